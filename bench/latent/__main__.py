"""`make bench-latent DATA="DIR …"`: searches without and with domain vectors, each set in a tenant of its own.

DIR: a retrieval set (corpus.jsonl, queries.jsonl, qrels.tsv). Documents are ingested, questions asked by the vectors
alone and by the hybrid search; then index maintenance fits and switches, and the same questions are asked again. No
question is used for fitting. The last line is one JSON object.
"""

from __future__ import annotations

from bench.sets_program import run


def main() -> None:
    """Start the services, measure the sets, print their figures."""
    run("bench.latent", description=__doc__, limit=300)


if __name__ == "__main__":
    main()
