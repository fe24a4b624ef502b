"""Hybrid search with and without the graph of entities."""
