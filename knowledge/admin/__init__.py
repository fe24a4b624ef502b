"""Admin pages for knowledge sets, documents and their ingestion."""

from knowledge.admin import documents, jobs, sets

__all__ = ["documents", "jobs", "sets"]
