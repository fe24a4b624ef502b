"""Rerankers: how well a passage answers a question."""
