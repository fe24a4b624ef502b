"""`make bench-use DATA="DIR …"`: what ranking from use changes, with simulated people.

DIR: a retrieval set (corpus.jsonl, queries.jsonl, qrels.tsv). Simulated people ask half of its questions in other
words, see what the search finds, look at sources the less the further down they stand, and open what they look at:
often where it answers, seldom where it does not. Then the product learns from that, and all questions are asked as
they are written, without and with ranking from use. Once more with people who open anything they look at: these must
change nothing. The last line is one JSON object.
"""

from __future__ import annotations

from bench.sets_program import run


def main() -> None:
    """Start the services, measure the sets, print their figures."""
    run("bench.use", description=__doc__, limit=200)


if __name__ == "__main__":
    main()
