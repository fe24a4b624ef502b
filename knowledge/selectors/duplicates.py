"""Pairs of documents that say nearly the same (D25)."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.models import DuplicatePair
from knowledge.selectors.documents import documents_readable
from knowledge.selectors.sets import sets_managed


def pairs_of(*, scope: Scope, set_id: int | None = None) -> QuerySet[DuplicatePair]:
    """Open pairs of documents that the asker may both open, at least one in a set that the asker keeps.

    Most alike first.
    """
    readable = documents_readable(scope=scope).order_by().values("pk")
    kept = sets_managed(scope=scope)
    if set_id is not None:
        kept = kept.filter(pk=set_id)
    ids = list(kept.order_by().values_list("pk", flat=True))
    pairs = DuplicatePair.objects.filter(
        Q(first__sets__in=ids) | Q(second__sets__in=ids),
        first__in=readable,
        second__in=readable,
        state=DuplicatePair.State.OPEN,
    )
    return pairs.select_related("first__live_version", "second__live_version").distinct().order_by("-similarity", "-pk")


def pair_get(*, scope: Scope, pair_id: int) -> DuplicatePair:
    """An open pair that the asker may decide about. Raises NotFoundError."""
    found = pairs_of(scope=scope).filter(pk=pair_id).first()
    if found is None:
        raise NotFoundError("pair", pair=pair_id)
    return found
