"""Measures of retrieval and answers on plain values."""
