"""`make bench-switch DATA="DIR …" SIZE=20000`: another embedding model for a corpus while people ask.

DIR: retrieval sets (corpus.jsonl, queries.jsonl, qrels.tsv), put together up to SIZE passages. Processes of their own
ask without a pause while the vectors of another model are made, switched on, moved into the coarse index, and switched
back; documents are added meanwhile. Each answer is compared with what either model finds alone for the same question.
The other model is a small one in the layout of sentence-transformers: random numbers for each word, averaged. The last
line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path

from bench.__main__ import prepare, require_sets


def main() -> None:
    """Start the services, then measure."""
    parser = argparse.ArgumentParser(prog="python -m bench.switch", description=__doc__)
    parser.add_argument("data", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--size", type=int, default=20_000, help="passages")
    parser.add_argument("--questions", type=int, default=100)
    arguments = parser.parse_args()
    require_sets(arguments.data)
    with ExitStack() as stack:
        prepare(stack)
        from bench.switch.measure import measure

        figures = measure(arguments.data, size=arguments.size, questions=arguments.questions, askers=2)
    print(json.dumps(figures, ensure_ascii=False))


if __name__ == "__main__":
    main()
