"""`make bench DATA="DIR …"`: retrieval quality and speed of every arm, as a Markdown table.

DIR holds corpus.jsonl, queries.jsonl and qrels.tsv. Without DATA the demo sets and their golden cases are used.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import django


def main() -> None:
    """Start the services, then run the benchmark inside Django."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path, help="public retrieval sets")
    parser.add_argument("--limit", type=int, default=300, help="questions per set")
    arguments = parser.parse_args()
    require_sets(arguments.folders)
    with ExitStack() as stack:
        prepare(stack)
        from bench.retrieval import run

        print(run(folders=arguments.folders, limit=arguments.limit))


def require_sets(folders: Iterable[Path]) -> None:
    """End the program where a folder is no retrieval set."""
    for folder in folders:
        if not (folder / "qrels.tsv").is_file():
            sys.exit(f"{folder} holds no qrels.tsv")


def prepare(stack: ExitStack, *, kept: Path | None = None) -> None:
    """Fresh services, removed when the stack closes; those of the folder `kept` stay, with what is in the database."""
    from ragsite.embedded.services import EmbeddedServices

    folder = kept.resolve() if kept else Path(tempfile.mkdtemp(prefix="ragsite-bench-"))
    if kept:
        folder.mkdir(parents=True, exist_ok=True)
    else:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
    services = stack.enter_context(EmbeddedServices(folder, durable=False))
    os.environ |= {
        "DATA_DIR": str(folder),
        "DATABASE_URL": services.database_url or "",
        "REDIS_URL": services.redis_url or "",
        "SECRET_KEY": "not a secret: benchmarks only, never outside",
        "TLS": "0",
        "LOG_LEVEL": "WARNING",
        "DJANGO_SETTINGS_MODULE": "ragsite.settings",
    }
    django.setup()


if __name__ == "__main__":
    main()
