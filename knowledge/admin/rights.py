"""Who curates what: administrators everything of their tenant, set owners the sets that they own."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from accounts.admin.base import ReadOnlyMixin, TenantAdmin, admin_scope, is_administrator
from knowledge.selectors import sets_managed

_OWNS = "_owns_sets"


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
