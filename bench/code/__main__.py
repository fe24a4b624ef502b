"""`make bench-code DATA=FOLDER`: functions found by what their docstrings say, and by their names.

FOLDER holds Python files (`python -c "import sysconfig; print(sysconfig.get_path('stdlib'))"`); folders of tests and of
installed packages are left out. `--modules` files are drawn, and of their documented functions and methods
`--questions`; the drawn ones lose their docstrings before all is ingested into a database of its own. The last line
is one JSON object. `mrr10`: the mean reciprocal rank (10) of a passage with lines of the function, for the first
sentence of its docstring. `identifier_first`: the share of names, defined once in all files and asked as they are,
whose definition stands first. `--keep FOLDER` keeps the database, `--show` prints the misses.
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path

from bench.__main__ import prepare


def main() -> None:
    """Draw, ingest, ask, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.code", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--modules", type=int, default=200, help="files that are drawn")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="folder of the database; by default a new one that is removed")
    parser.add_argument("--show", action="store_true", help="print what was not among the first")
    arguments = parser.parse_args()
    with ExitStack() as stack:
        prepare(stack, kept=arguments.keep)
        from bench.code.measure import measure

        figures = measure(
            arguments.folder,
            modules=arguments.modules,
            questions=arguments.questions,
            seed=arguments.seed,
            shows_misses=arguments.show,
        )
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
