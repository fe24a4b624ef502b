"""`make bench-finetune DATA="DIR …"`: query vectors fitted on half of each set's documents, measured on the others.

DIR: a retrieval set (corpus.jsonl, queries.jsonl, qrels.tsv). The first half of its documents is ingested, and the
product's own training runs: once with the golden questions about these documents, once with made pairs alone. Then the
other half is ingested, and the questions about it alone are asked, with vectors alone and hybrid. `misses_removed`: the
share of what recall@10 lacks that is found afterwards. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path

from bench.__main__ import prepare, require_sets


def main() -> None:
    """Start the services, then measure the sets."""
    parser = argparse.ArgumentParser(prog="python -m bench.finetune", description=__doc__)
    parser.add_argument("data", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--limit", type=int, default=100_000, help="questions of unseen documents per set")
    arguments = parser.parse_args()
    require_sets(arguments.data)
    with ExitStack() as stack:
        prepare(stack)
        from bench.finetune.measure import measure_sets

        found = measure_sets(arguments.data, limit=arguments.limit)
    print(json.dumps(found, ensure_ascii=False))


if __name__ == "__main__":
    main()
