"""`make bench-graph DATA="DIR …"`: hybrid search with the graph of entities against hybrid search alone.

DIR: a retrieval set (corpus.jsonl, queries.jsonl, qrels.tsv). A set whose questions have several relevant passages
each is one of several hops, any other one a single-hop set. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path

from bench.__main__ import prepare, require_sets


def main() -> None:
    """Start the services, measure, report."""
    parser = argparse.ArgumentParser(prog="python -m bench.graph", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--limit", type=int, default=300, help="questions per set")
    parser.add_argument("--graph", choices=("on", "auto"), default="on", help="for every question, or by its kind")
    arguments = parser.parse_args()
    require_sets(arguments.folders)
    with ExitStack() as stack:
        prepare(stack)
        from bench.graph.measure import measure_sets

        print(json.dumps(measure_sets(arguments.folders, limit=arguments.limit, use=arguments.graph)))


if __name__ == "__main__":
    main()
