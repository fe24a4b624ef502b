"""`make bench-use DATA="DIR …"`: what ranking from use changes, with simulated people.

DIR: a retrieval set (corpus.jsonl, queries.jsonl, qrels.tsv). Simulated people ask half of its questions in other
words, see what the search finds, look at sources the less the further down they stand, and open what they look at:
often where it answers, seldom where it does not. Then the product learns from that, and all questions are asked as
they are written, without and with ranking from use. Once more with people who open anything they look at: these must
change nothing. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path

from bench.__main__ import prepare, require_sets


def main() -> None:
    """Start the services, measure the sets, print their figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.use", description=__doc__)
    parser.add_argument("data", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--limit", type=int, default=200, help="questions per set")
    arguments = parser.parse_args()
    require_sets(arguments.data)
    with ExitStack() as stack:
        prepare(stack)
        from bench.use.measure import measure_sets

        figures = measure_sets(arguments.data, limit=arguments.limit)
    print(json.dumps(figures, ensure_ascii=False))


if __name__ == "__main__":
    main()
