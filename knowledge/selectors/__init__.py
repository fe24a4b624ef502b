"""Reading knowledge. Every function takes the asker's scope."""

from knowledge.selectors.documents import (
    chunk_get,
    chunks_of,
    corpus_epoch,
    document_get,
    document_list,
    documents_askable,
    documents_readable,
)
from knowledge.selectors.jobs import (
    items_progress,
    items_readable,
    job_get,
    jobs_readable,
)
from knowledge.selectors.sets import (
    set_curated,
    set_get,
    set_owned,
    sets_curated,
    sets_listed,
    sets_managed,
    sets_readable,
)

__all__ = [
    "chunk_get",
    "chunks_of",
    "corpus_epoch",
    "document_get",
    "document_list",
    "documents_askable",
    "documents_readable",
    "items_progress",
    "items_readable",
    "job_get",
    "jobs_readable",
    "set_curated",
    "set_get",
    "set_owned",
    "sets_curated",
    "sets_listed",
    "sets_managed",
    "sets_readable",
]
