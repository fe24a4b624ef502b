"""The command line of benches that measure public sets one after the other and end with one JSON object."""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

from bench.__main__ import prepare, require_sets


def run(package: str, *, description: str | None, limit: int, of: str = "questions per set") -> None:
    """Start the services, then print what `measure_sets` of the package's module `measure` finds.

    That module is imported when the services run: it uses the ORM. `limit`: the default of --limit, which counts `of`.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {package}", description=description)
    parser.add_argument("data", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--limit", type=int, default=limit, help=of)
    arguments = parser.parse_args()
    require_sets(arguments.data)
    with ExitStack() as stack:
        prepare(stack)
        figures = import_module(f"{package}.measure").measure_sets(arguments.data, limit=arguments.limit)
    print(json.dumps(figures, ensure_ascii=False))
