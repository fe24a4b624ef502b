"""Facts as triples: their text, questions about them, retrieval in two stages, chains of reasons, paths."""
