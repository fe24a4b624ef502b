"""Admin pages for knowledge sets, documents and their ingestion. Each module declares its own."""

from knowledge.admin import (
    documents,
    duplicates,
    handlers,
    jobs,
    language_models,
    lexicon,
    places,
    search_models,
    sets,
    sources,
    tenants,
    triples,
)

__all__ = [
    "documents",
    "duplicates",
    "handlers",
    "jobs",
    "language_models",
    "lexicon",
    "places",
    "search_models",
    "sets",
    "sources",
    "tenants",
    "triples",
]
