"""Searching in large corpora: `python -m bench.scale`, and its modules `churn` and `memory`."""
