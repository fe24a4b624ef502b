"""`make bench-modes DATA="DIR …"`: the same questions in every mode; one that costs more is to be no worse.

DIR holds corpus.jsonl, queries.jsonl with answers, and qrels.tsv; or documents/ and questions.jsonl as
`make bench-everyday` reads them, where gold is a useful answer. Prints a table with one row for each set and mode,
then confidence beside right answers, and as last line one JSON object: set -> mode -> {"gold", "cites"}, shares of
answers in which a right answer stands and that cite a right document. A set is named by its folder, by the folder
above where that is called dev or heldout. With LLM_BASE_URL and LLM_MODEL a language model takes part.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.__main__ import prepare, require_sets


def main(arguments: Sequence[str]) -> None:
    """Start the services, load each set, ask, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.modes", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--limit", type=int, default=100, help="questions of each set")
    options = parser.parse_args(arguments)
    require_sets(folder for folder in options.folders if not (folder / "questions.jsonl").is_file())
    with ExitStack() as stack:
        prepare(stack)
        from bench.modes.measure import HEAD, MODES, measure

        sets = []
        print(HEAD)
        for figures in measure(options.folders, limit=options.limit):
            sets.append(figures)
            print("\n".join(figures.rows()), flush=True)
        for figures in sets:
            print(f"\n{figures.name}, basic\n\n{figures.reliability('basic').table()}")
    print(json.dumps({figures.name: {mode: figures.shares(mode) for mode in MODES} for figures in sets}))


if __name__ == "__main__":
    main(sys.argv[1:])
