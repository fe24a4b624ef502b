"""`make bench-set-models DATA="DIR …" MODEL=FOLDER`: searches with an embedding model of the set (decision 041).

DIR: a retrieval set (corpus.jsonl, queries.jsonl, qrels.tsv). FOLDER: a model in the layout of sentence-transformers;
"wordllama" stands for the one that comes with the package of this name, which must be installed, "packaged" for the
product's own, where EMBEDDER names another one for the site. Each set is asked with the site's model alone, with both
together, and with its own model alone. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path

from bench.__main__ import prepare, require_sets


def main() -> None:
    """Start the services, then measure the sets."""
    parser = argparse.ArgumentParser(prog="python -m bench.set_models", description=__doc__)
    parser.add_argument("data", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--model", default="wordllama", metavar="FOLDER")
    parser.add_argument("--limit", type=int, default=300, help="questions per set")
    arguments = parser.parse_args()
    require_sets(arguments.data)
    with ExitStack() as stack:
        prepare(stack)
        from bench.set_models.measure import measure_sets

        figures = measure_sets(arguments.data, model=arguments.model, limit=arguments.limit)
    print(json.dumps(figures, ensure_ascii=False))


if __name__ == "__main__":
    main()
