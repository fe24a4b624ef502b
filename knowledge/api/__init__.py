"""REST resources of knowledge: sets, documents, ingestion jobs."""

from knowledge.api.documents import DocumentViewSet
from knowledge.api.jobs import JobViewSet
from knowledge.api.sets import KnowledgeSetViewSet

__all__ = ["DocumentViewSet", "JobViewSet", "KnowledgeSetViewSet"]
