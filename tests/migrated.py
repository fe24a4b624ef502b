"""A dump of the migrated database, kept for later runs: migrating takes 20 s of processor time, reading the dump 3 s.

A dump is found by what it was made from, so any change of a migration or a model makes a new one. The full form of the
tests migrates each time. Data migrations find an empty database: what else they call does not count.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.apps import apps

from ragsite.embedded.postgres import binaries
from tests.services_plugin import ROOT, kept_folder

KEPT_DUMPS = 20


def dump_path() -> Path:
    """Where the dump of what the code says today is, or would be. Migrations make partitions of the current month."""
    made_from = hashlib.sha256(datetime.now(UTC).strftime("%Y-%m").encode())
    for file in _sources():
        made_from.update(file.relative_to(ROOT).as_posix().encode() + file.read_bytes())
    return kept_folder("migrated") / f"{made_from.hexdigest()[:16]}.sql"


def _sources() -> Iterator[Path]:
    yield ROOT / "requirements.lock"  # Django's own migrations, PostgreSQL, pgvector
    yield ROOT / "ragsite" / "settings" / "apps.py"
    for app in sorted(apps.get_app_configs(), key=lambda app: app.label):
        folder = Path(app.path)
        if folder.parent == ROOT:
            for pattern in ("migrations/*.py", "models.py", "models/**/*.py"):
                yield from sorted(folder.glob(pattern))


def dump_read(path: Path, *, server: dict[str, Any], database: str) -> None:
    """Fill an empty database. Raises CalledProcessError."""
    _run("psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", f"--file={path}", server=server, database=database)


def dump_write(path: Path, *, server: dict[str, Any], database: str) -> None:
    """Keep what a database holds; the oldest dumps leave. Raises CalledProcessError."""
    nascent = path.with_suffix(f".{os.getpid()}")
    _run("pg_dump", "--no-owner", f"--file={nascent}", server=server, database=database)
    nascent.rename(path)
    for old in sorted(path.parent.glob("*.sql"), key=lambda file: file.stat().st_mtime)[:-KEPT_DUMPS]:
        old.unlink(missing_ok=True)


def _run(program: str, *arguments: str, server: dict[str, Any], database: str) -> None:
    """One of PostgreSQL's own programs. `server`: Django's settings of the connection."""
    names = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD"}
    environment = os.environ | {name: str(server[key]) for name, key in names.items()} | {"PGDATABASE": database}
    subprocess.run([str(binaries() / program), *arguments], env=environment, check=True, capture_output=True, text=True)
