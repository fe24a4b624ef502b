"""Ingestion speed and storage against their goals: `python -m bench.ingest`."""
