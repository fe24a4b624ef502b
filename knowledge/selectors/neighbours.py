"""Documents that stand beside another one, among those that somebody may open."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.db.models import Q, QuerySet

from accounts.scope import Scope
from knowledge.models import Document, DocumentRelation
from knowledge.relation_kinds import FEATURE, directions

MOST_NEIGHBOURS = 1000  # documents that a search beside a document looks into: those related first


def relations_between(*, scope: Scope, readable: QuerySet[Document]) -> QuerySet[DocumentRelation]:
    """Bound relations with both ends among these. `readable`: what the asker may open."""
    del scope  # bound in `readable`
    ids = readable.order_by().values("pk")
    rows = DocumentRelation.objects.filter(dismissed=False, target__isnull=False)
    return rows.filter(source__in=ids, target__in=ids)


def neighbours_among(
    *, scope: Scope, readable: QuerySet[Document], document_id: int, kinds: Sequence[str] = ()
) -> list[int]:
    """Documents that stand to one in one of these ways, nearest first; () for any way.

    Of one feature also those two steps away: a design leads to its tests over its development. Every document on the
    way is among `readable`; nothing stands beside one that is not.
    """
    forward, backward = directions(kinds)
    near = _step(scope, readable, [document_id], forward, backward)
    feature = frozenset(FEATURE)
    if kinds and forward | backward <= feature:
        between = _step(scope, readable, [document_id], feature, feature)
        near += _step(scope, readable, between, forward, backward)
    return [pk for pk in dict.fromkeys(near) if pk != document_id][:MOST_NEIGHBOURS]


def _step(
    scope: Scope, readable: QuerySet[Document], ids: Sequence[int], forward: Collection[str], backward: Collection[str]
) -> list[int]:
    if not ids:
        return []
    ahead = Q(source__in=ids, kind__in=forward)
    behind = Q(target__in=ids, kind__in=backward)
    rows = relations_between(scope=scope, readable=readable).filter(ahead | behind).order_by("pk")
    pairs = rows.values_list("kind", "source_id", "target_id")[: 2 * MOST_NEIGHBOURS]
    bases = set(ids)
    ends: list[int] = []
    for kind, source, target in pairs:
        ends += [target] if source in bases and kind in forward else []
        ends += [source] if target in bases and kind in backward else []
    return ends
