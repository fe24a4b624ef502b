"""Questions about facts: retrieval of triples with and without re-scoring, and kinds of questions."""
