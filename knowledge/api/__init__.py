"""REST resources of knowledge: sets, documents, ingestion jobs."""

from knowledge.api.access_requests import AccessRequestViewSet
from knowledge.api.documents import DocumentViewSet
from knowledge.api.entities import EntityViewSet
from knowledge.api.jobs import JobViewSet
from knowledge.api.places import SourcePlaceViewSet
from knowledge.api.set_files import SetFileViewSet
from knowledge.api.sets import KnowledgeSetViewSet
from knowledge.api.sources import PageViewSet, SourceViewSet
from knowledge.api.triples import TripleViewSet
from knowledge.api.webhooks import WebhookViewSet

__all__ = [
    "AccessRequestViewSet",
    "DocumentViewSet",
    "EntityViewSet",
    "JobViewSet",
    "KnowledgeSetViewSet",
    "PageViewSet",
    "SetFileViewSet",
    "SourcePlaceViewSet",
    "SourceViewSet",
    "TripleViewSet",
    "WebhookViewSet",
]
