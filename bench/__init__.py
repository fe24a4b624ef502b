"""Benchmarks that anyone can rerun; each starts its own PostgreSQL and Redis in a folder that it removes."""
