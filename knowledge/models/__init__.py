"""Knowledge sets, documents, chunks, the index, sources, ingestion jobs."""

from knowledge.models.backends import BackendChange, TenantBackend
from knowledge.models.chunks import Chunk
from knowledge.models.documents import Document, DocumentVersion
from knowledge.models.duplicates import DuplicatePair, SketchBand
from knowledge.models.edits import ChunkEdit
from knowledge.models.index import CorpusEpoch, IndexEntry, LexicalStatistics, Term
from knowledge.models.jobs import IngestItem, IngestJob, SyncRun
from knowledge.models.options_history import OptionsChange
from knowledge.models.pictures import DocumentPicture
from knowledge.models.sets import KnowledgeSet, SiteOptions
from knowledge.models.sources import Attribute, HandlerRule, SetSource, Source, SourceHandler

__all__ = [
    "Attribute",
    "BackendChange",
    "Chunk",
    "ChunkEdit",
    "CorpusEpoch",
    "Document",
    "DocumentPicture",
    "DocumentVersion",
    "DuplicatePair",
    "HandlerRule",
    "IndexEntry",
    "IngestItem",
    "IngestJob",
    "KnowledgeSet",
    "LexicalStatistics",
    "OptionsChange",
    "SetSource",
    "SiteOptions",
    "SketchBand",
    "Source",
    "SourceHandler",
    "SyncRun",
    "TenantBackend",
    "Term",
]
