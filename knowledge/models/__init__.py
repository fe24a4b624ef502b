"""Knowledge sets, documents, chunks, the index, ingestion jobs."""

from knowledge.models.chunks import Chunk
from knowledge.models.documents import Document, DocumentVersion
from knowledge.models.index import CorpusEpoch, IndexEntry, LexicalStatistics, Term
from knowledge.models.jobs import IngestItem, IngestJob
from knowledge.models.sets import KnowledgeSet
from knowledge.models.sources import Source

__all__ = [
    "Chunk",
    "CorpusEpoch",
    "Document",
    "DocumentVersion",
    "IndexEntry",
    "IngestItem",
    "IngestJob",
    "KnowledgeSet",
    "LexicalStatistics",
    "Source",
    "Term",
]
