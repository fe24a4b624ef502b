"""The REST resources below /api/v1."""

from __future__ import annotations

from rest_framework.routers import SimpleRouter

from accounts.api import ApiKeyViewSet, UserViewSet
from feedback.api import FeedbackViewSet, SignalViewSet
from knowledge.api import (
    AccessRequestViewSet,
    DocumentViewSet,
    EntityViewSet,
    JobViewSet,
    KnowledgeSetViewSet,
    PageViewSet,
    SetFileViewSet,
    SourcePlaceViewSet,
    SourceViewSet,
    TripleViewSet,
    WebhookViewSet,
)
from notifications.api import NotificationViewSet
from work.api import BackgroundJobViewSet


def rest_router() -> SimpleRouter:
    """Addresses of the resources, below /api/v1."""
    router = SimpleRouter(trailing_slash=False, use_regex_path=False)
    for prefix, kind in (
        ("knowledge-sets", KnowledgeSetViewSet),
        ("documents/url", PageViewSet),
        ("documents", DocumentViewSet),
        ("sources", SourceViewSet),
        ("source-places", SourcePlaceViewSet),
        ("set-files", SetFileViewSet),
        ("triples", TripleViewSet),
        ("entities", EntityViewSet),
        ("webhooks/<str:source>", WebhookViewSet),
        ("jobs", JobViewSet),
        ("background-jobs", BackgroundJobViewSet),
        ("users", UserViewSet),
        ("api-keys", ApiKeyViewSet),
        ("access-requests", AccessRequestViewSet),
        ("notifications", NotificationViewSet),
        ("feedback", FeedbackViewSet),
        ("signals", SignalViewSet),
    ):
        router.register(prefix, kind, basename=prefix.partition("/<")[0].replace("/", "-"))
    return router
