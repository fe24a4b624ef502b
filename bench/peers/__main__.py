"""`make bench-retrieval DATA="DIR …"`: our retrieval beside other systems, into docs/benchmarks.md.

DIR holds corpus.jsonl, queries.jsonl and qrels.tsv. A peer that cannot run is reported with the reason.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from bench.__main__ import prepare
from bench.peers.catalogue import GROUPS, VECTOR_KINDS, System, systems
from bench.report import section_write

if TYPE_CHECKING:
    from bench.peers.measure import SetResult


def main() -> None:
    """Start the services, then measure inside Django."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="public retrieval sets")
    parser.add_argument("--limit", type=int, default=300, help="questions per set, chosen with a fixed seed")
    parser.add_argument("--peers", default=" ".join(GROUPS), help="the ones to compare with, or none")
    parser.add_argument("--vectors", default=" ".join(VECTOR_KINDS), help="what peers are given")
    parser.add_argument("--python", type=Path, default=Path(".venv-bench/bin/python"), help="of their environment")
    parser.add_argument("--page", type=Path, help="write the figures into this page, between its markers")
    parser.add_argument("--json", type=Path, help="also write every question's figures there")
    arguments = parser.parse_args()
    for folder in arguments.folders:
        if not (folder / "qrels.tsv").is_file():
            sys.exit(f"{folder} holds no qrels.tsv")
    if arguments.page and not arguments.page.is_file():
        sys.exit(f"there is no page {arguments.page}")
    wanted = [] if arguments.peers.strip() == "none" else arguments.peers.split()
    if unknown := set(arguments.vectors.split()) - set(VECTOR_KINDS):
        sys.exit(f"there are no vectors {', '.join(sorted(unknown))}")
    try:
        rows = systems(peers=wanted, kinds=arguments.vectors.split())
    except ValueError as error:
        sys.exit(str(error))
    with ExitStack() as stack:
        prepare(stack)
        text, results = run(folders=arguments.folders, rows=rows, limit=arguments.limit, python=arguments.python)
    if arguments.json:
        arguments.json.write_text(json.dumps([_as_json(result) for result in results]), encoding="utf-8")
    if arguments.page:
        from bench.peers.page import SECTION

        section_write(arguments.page, SECTION, text)
    print(text)


def run(
    *, folders: Sequence[Path], rows: Sequence[System], limit: int, python: Path
) -> tuple[str, Sequence[SetResult]]:
    """The Markdown and what it was made of. Needs services and Django."""
    from django.core.management import call_command

    from accounts.models import User
    from bench.peers.database import database_bytes, database_versions
    from bench.peers.measure import set_measure
    from bench.peers.page import About, page_section
    from bench.peers.sets import set_read

    call_command("bootstrap", "--demo", "0", verbosity=0, stdout=io.StringIO())  # else the password of an hour is shown
    admin = User.objects.get(username="admin")
    publics = [set_read(folder, limit=limit) for folder in folders]
    results = [set_measure(public, systems=rows, admin=admin, python=python) for public in publics]
    about = About(
        command=f'make bench-retrieval DATA="{" ".join(public.name for public in publics)}" LIMIT={limit}',
        day=date.today(),
        versions=database_versions(),
        database_bytes=database_bytes(),
    )
    return page_section(results, rows, about), results


def _as_json(result: SetResult) -> dict[str, object]:
    """Without the texts."""
    return {
        "set": result.public.name,
        "passages": len(result.public.passages),
        "failed": dict(result.failed),
        "systems": {key: asdict(measured) for key, measured in result.measured.items()},
    }


if __name__ == "__main__":
    main()
