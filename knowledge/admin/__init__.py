"""Admin pages for knowledge sets, documents and their ingestion."""

from knowledge.admin import attributes, documents, duplicates, handlers, jobs, sets, sources

__all__ = ["attributes", "documents", "duplicates", "handlers", "jobs", "sets", "sources"]
