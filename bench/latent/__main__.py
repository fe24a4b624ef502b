"""`make bench-latent DATA="DIR …"`: searches without and with domain vectors, each set in a tenant of its own.

DIR: a retrieval set (corpus.jsonl, queries.jsonl, qrels.tsv). Documents are ingested, questions asked by the vectors
alone and by the hybrid search; then index maintenance fits and switches, and the same questions are asked again. No
question is used for fitting. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path

from bench.__main__ import prepare, require_sets


def main() -> None:
    """Start the services, measure the sets, print their figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.latent", description=__doc__)
    parser.add_argument("data", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--limit", type=int, default=300, help="questions per set")
    arguments = parser.parse_args()
    require_sets(arguments.data)
    with ExitStack() as stack:
        prepare(stack)
        from bench.latent.measure import measure_sets

        figures = measure_sets(arguments.data, limit=arguments.limit)
    print(json.dumps(figures, ensure_ascii=False))


if __name__ == "__main__":
    main()
