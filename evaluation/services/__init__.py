"""Golden sets, runs of them, and the retrieval lab."""
