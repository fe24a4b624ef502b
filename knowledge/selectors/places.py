"""Folders and private hosts that tenants have: administrators see their own."""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.models import SourcePlace


def places_listed(*, scope: Scope) -> QuerySet[SourcePlace]:
    """Of every tenant for platform administrators, of their own for other administrators, none for everybody else.

    What the operator named by variables has no row.
    """
    rows = SourcePlace.objects.select_related("tenant").order_by("tenant__name", "kind", "location", "pk")
    if scope.administers == "everything":
        return rows
    return rows.filter(tenant_id=scope.tenant_id) if scope.administers == "tenant" else rows.none()


def place_get(*, scope: Scope, place_id: int) -> SourcePlace:
    """A place that the asker sees. Raises NotFoundError."""
    place = places_listed(scope=scope).filter(pk=place_id).first()
    if place is None:
        raise NotFoundError("place", place=place_id)
    return place
