"""Reading knowledge. Every function takes the asker's scope."""

from knowledge.selectors.documents import (
    corpus_epoch,
    document_get,
    documents_askable,
    documents_readable,
)
from knowledge.selectors.jobs import (
    items_progress,
    items_readable,
    job_get,
    jobs_readable,
)
from knowledge.selectors.keeping import (
    document_openable,
    documents_kept,
    documents_openable,
    is_kept,
    version_openable,
)
from knowledge.selectors.passages import chunk_get, chunk_open_check, chunks_of, document_list
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
    "chunk_open_check",
    "chunks_of",
    "corpus_epoch",
    "document_get",
    "document_list",
    "document_openable",
    "documents_askable",
    "documents_kept",
    "documents_openable",
    "documents_readable",
    "is_kept",
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
    "version_openable",
]
