"""What a search may touch, said simply enough for another backend than Postgres (D39).

The definition of visibility is `documents_askable`. These bounds only spare another backend from looking at what the
asker cannot find: they may let more pass, never less, and whatever it finds is checked with the definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.db.models import QuerySet

from accounts.scope import Scope
from knowledge.indexes.visibility import Bounds
from knowledge.models import KnowledgeSet, TenantBackend
from knowledge.selectors.sets import sets_readable
from knowledge.types import Filters

Axis = KnowledgeSet.Axis


def search_bounds(
    *, scope: Scope, sets: Sequence[int] = (), filters: Filters | None = None, within: Scope | None = None
) -> Bounds:
    """The bounds of `documents_askable` with the same arguments."""
    filters = filters or Filters()
    groups = [group for one in (scope, within) if one is not None for group in _groups(one, sets, filters)]
    return Bounds(
        clearance=min(one.clearance for one in (scope, within) if one is not None),
        sets=tuple(groups),
        tags=tuple(filters.tags),
        is_exact=replace(filters, axis=None, capability=(), organisation=(), tags=()) == Filters(),
    )


def backend_collection(*, scope: Scope) -> str | None:
    """Where the tenant's passages are searched instead of Postgres; None: nowhere else."""
    rows = TenantBackend.objects.filter(tenant_id=scope.tenant_id, ready__isnull=False)
    return rows.values_list("collection", flat=True).first()


def _groups(scope: Scope, sets: Sequence[int], filters: Filters) -> list[tuple[int, ...]]:
    """Groups of readable sets; a visible document is in at least one set of each."""
    readable = sets_readable(scope=scope)
    asked = readable.filter(pk__in=sets) if sets else readable
    groups = [asked.filter(axis=filters.axis) if filters.axis else asked]
    for axis, codes in ((Axis.CAPABILITY, filters.capability), (Axis.ORGANISATION, filters.organisation)):
        if codes:
            groups.append(readable.filter(axis=axis, code__in=codes))
    return [_ids(group) for group in groups]


def _ids(sets: QuerySet[KnowledgeSet]) -> tuple[int, ...]:
    return tuple(sets.order_by("pk").values_list("pk", flat=True))
