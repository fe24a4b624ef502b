"""`make bench-lexicon DATA="FILE|DIR …"`: terms found in documents, and searches with and without a published lexicon.

FILE: a document with a glossary: a section of abbreviations, one a line with a tab, and definitions "Term: …". DIR: a
retrieval set (corpus.jsonl, queries.jsonl, qrels.tsv). The terms of the files become the lexicon of the tenant, those
that are found in a set the lexicon of the set; nobody reviews them, only sure ones are approved. The last line is one
JSON object.
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.__main__ import prepare, require_sets


def main() -> None:
    """Measure the files, then start the services and measure the sets."""
    parser = argparse.ArgumentParser(prog="python -m bench.lexicon", description=__doc__)
    parser.add_argument("data", nargs="*", type=Path, metavar="FILE|DIR")
    parser.add_argument("--limit", type=int, default=300, help="questions per set")
    arguments = parser.parse_args()
    folders = [path for path in arguments.data if path.is_dir()]
    require_sets(folders)
    from bench.lexicon.documents import measure_bilingual, measure_document, read_document

    texts = {path.name: read_document(path) for path in arguments.data if not path.is_dir()}
    results: dict[str, Any] = {name: measure_document(text) for name, text in texts.items()}
    results["bilingual"] = measure_bilingual()
    with ExitStack() as stack:
        if folders:
            prepare(stack)
            from bench.lexicon.searches import measure_sets

            results |= measure_sets(folders, limit=arguments.limit, texts=list(texts.values()))
    print(json.dumps(results, ensure_ascii=False))


if __name__ == "__main__":
    main()
