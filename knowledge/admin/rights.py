"""Who curates what: administrators everything of their tenant, set owners the sets that they own."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest

from accounts.admin.base import ReadOnlyMixin, TenantAdmin, admin_scope, is_administrator
from accounts.scope import Scope
from knowledge.models import Document
from knowledge.selectors import documents_readable, sets_managed

_OWNS = "_owns_sets"


def documents_managed(*, scope: Scope) -> QuerySet[Document]:
    """Documents of the sets that the person manages; administrators also have those that are in no set."""
    rows = documents_readable(scope=scope)
    if scope.administers != "nothing":
        return rows
    managed = sets_managed(scope=scope).order_by().values("pk")
    membership = Document.sets.through.objects.filter(document_id=OuterRef("pk"), knowledgeset_id__in=managed)
    return rows.filter(Exists(membership))


def is_curator(request: HttpRequest) -> bool:
    """Whether the person curates anything: administrators, and staff who own a set."""
    if is_administrator(request):
        return True
    user = request.user
    if not (user.is_active and user.is_staff):
        return False
    if not hasattr(request, _OWNS):  # asked for each entry of the navigation
        setattr(request, _OWNS, sets_managed(scope=admin_scope(request)).exists())
    return bool(getattr(request, _OWNS))


class CuratorAdmin(ReadOnlyMixin, TenantAdmin):
    """Pages of curators; each page narrows its rows to what is managed."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_curator(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_curator(request)
