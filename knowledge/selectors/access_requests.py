"""Requests for access: one's own, and those that one decides."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.models import AccessRequest, KnowledgeSet
from knowledge.selectors.sets import sets_managed, sets_readable


def requests_to_decide(*, scope: Scope) -> QuerySet[AccessRequest]:
    """Requests for sets that the asker keeps, newest first."""
    return _rows().filter(knowledge_set__in=sets_managed(scope=scope).order_by().values("pk"))


def requests_of(*, scope: Scope) -> QuerySet[AccessRequest]:
    """The asker's own, newest first."""
    return _rows().filter(user_id=scope.user_id)


def request_get(*, scope: Scope, request_id: int) -> AccessRequest:
    """A request that the asker made or decides. Raises NotFoundError."""
    condition = Q(user_id=scope.user_id) | Q(knowledge_set__in=sets_managed(scope=scope).order_by().values("pk"))
    row = _rows().filter(condition, pk=request_id).first()
    if row is None:
        raise NotFoundError("access_request")
    return row


def sets_with_access(*, scope: Scope, rows: QuerySet[KnowledgeSet]) -> QuerySet[KnowledgeSet]:
    """The sets with `may_read`: the asker reads or keeps the set, so that more than its name may be shown."""
    visible = [sets(scope=scope).filter(pk=OuterRef("pk")).order_by() for sets in (sets_readable, sets_managed)]
    return rows.annotate(may_read=Exists(visible[0]) | Exists(visible[1])).prefetch_related("owners")


def _rows() -> QuerySet[AccessRequest]:
    return AccessRequest.objects.select_related("knowledge_set", "user", "decided_by").order_by("-pk")
