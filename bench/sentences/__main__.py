"""`EMBEDDER=embedded_e5 python -m bench.sentences DIR …`: what vectors of sentences cost (decision 048).

DIR: retrieval sets (corpus.jsonl, queries.jsonl, qrels.tsv), of which --limit documents each are ingested, then their
sentences are embedded a second time alone, as the background does it. The last line is one JSON object.
"""

from bench import sets_program

if __name__ == "__main__":
    sets_program.run("bench.sentences", description=__doc__, limit=200, of="documents per set")
