"""`make bench-finetune DATA="DIR …"`: query vectors fitted on half of each set's documents, measured on the others.

DIR: a retrieval set (corpus.jsonl, queries.jsonl, qrels.tsv). The first half of its documents is ingested, and the
product's own training runs: once with the golden questions about these documents, once with made pairs alone. Then the
other half is ingested, and the questions about it alone are asked, with vectors alone and hybrid. `misses_removed`: the
share of what recall@10 lacks that is found afterwards. The last line is one JSON object.
"""

from __future__ import annotations

from bench.sets_program import run


def main() -> None:
    """Start the services, then measure the sets."""
    run("bench.finetune", description=__doc__, limit=100_000, of="questions of unseen documents per set")


if __name__ == "__main__":
    main()
