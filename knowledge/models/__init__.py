"""Knowledge sets, documents, chunks, the index, sources, ingestion jobs."""

from knowledge.models.access import AccessRequest
from knowledge.models.adapters import QueryAdapter
from knowledge.models.chunks import Chunk, ChunkEdit, RepresentationRetry
from knowledge.models.documents import (
    Document,
    DocumentNames,
    DocumentPicture,
    DocumentVersion,
    DuplicatePair,
    SketchBand,
)
from knowledge.models.entities import (
    Entity,
    EntityAlias,
    EntityDecision,
    EntityKind,
    EntityReading,
    EntityVector,
    Mention,
)
from knowledge.models.graph import (
    FactReading,
    FactState,
    Triple,
    TripleDecision,
    TripleImport,
    TripleName,
    TripleNameVector,
    TripleVector,
)
from knowledge.models.index import (
    BackendChange,
    CorpusEpoch,
    EmbedderFit,
    EntryText,
    IndexEntry,
    LexicalStatistics,
    PassageSentences,
    SetEpoch,
    SetVector,
    TenantBackend,
    TenantVectors,
    Term,
    VectorCells,
    WholeVector,
)
from knowledge.models.jobs import IngestItem, IngestJob, QueueTurn, SyncRun
from knowledge.models.language_models import (
    EnvironmentModelTest,
    LanguageModel,
    ModelExam,
    ModelPurpose,
    ModelServer,
    ModelsVersion,
)
from knowledge.models.lexicon import LexiconChange, LexiconTerm, LexiconVersion
from knowledge.models.model_trainings import ModelTraining
from knowledge.models.places import SourcePlace
from knowledge.models.readers import ReaderList
from knowledge.models.relations import DocumentRelation
from knowledge.models.reranker_fits import RerankerFit
from knowledge.models.reviews import DocumentReview
from knowledge.models.search_models import EmbedderSwitch, SearchModel
from knowledge.models.set_embedders import SetEmbedder
from knowledge.models.set_files import SetFile, SetFileDocument
from knowledge.models.sets import KnowledgeSet, OptionsChange, RefusalLine, SiteOptions, name_in_language
from knowledge.models.source_state import DeletionHold, ItemFault
from knowledge.models.sources import Attribute, HandlerRule, SetSource, Source, SourceHandler
from knowledge.models.use import UseEvidence, UseSummary

__all__ = [
    "AccessRequest",
    "Attribute",
    "BackendChange",
    "Chunk",
    "ChunkEdit",
    "CorpusEpoch",
    "DeletionHold",
    "Document",
    "DocumentNames",
    "DocumentPicture",
    "DocumentRelation",
    "DocumentReview",
    "DocumentVersion",
    "DuplicatePair",
    "Entity",
    "EntityAlias",
    "EntityDecision",
    "EntityKind",
    "EntityReading",
    "EntityVector",
    "EmbedderFit",
    "EmbedderSwitch",
    "EntryText",
    "EnvironmentModelTest",
    "FactReading",
    "FactState",
    "HandlerRule",
    "IndexEntry",
    "IngestItem",
    "IngestJob",
    "ItemFault",
    "KnowledgeSet",
    "LanguageModel",
    "LexicalStatistics",
    "LexiconChange",
    "LexiconTerm",
    "LexiconVersion",
    "Mention",
    "ModelExam",
    "ModelPurpose",
    "ModelServer",
    "ModelTraining",
    "ModelsVersion",
    "OptionsChange",
    "PassageSentences",
    "QueryAdapter",
    "QueueTurn",
    "ReaderList",
    "RefusalLine",
    "RepresentationRetry",
    "RerankerFit",
    "SearchModel",
    "SetEmbedder",
    "SetEpoch",
    "SetFile",
    "SetFileDocument",
    "SetSource",
    "SetVector",
    "SiteOptions",
    "SketchBand",
    "Source",
    "SourceHandler",
    "SourcePlace",
    "SyncRun",
    "TenantBackend",
    "TenantVectors",
    "Term",
    "Triple",
    "TripleDecision",
    "TripleImport",
    "TripleName",
    "TripleNameVector",
    "TripleVector",
    "UseEvidence",
    "UseSummary",
    "VectorCells",
    "WholeVector",
    "name_in_language",
]
