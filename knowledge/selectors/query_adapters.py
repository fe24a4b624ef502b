"""Query adapters: which of them a search uses, and which somebody may see and switch.

Each adapter searches its own set. Of many sets at most MOST_IN_SEARCH do; the passages of the others are compared with
the question's plain vector, so a question costs a few searches at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from django.db.models import QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import EpochCache, epoch_of
from knowledge.indexes.visibility import Visible
from knowledge.models import QueryAdapter as Row
from knowledge.selectors.sets import set_owned, sets_managed, sets_readable
from knowledge.selectors.training_vectors import space_dimensions, space_name
from ragcore.embedding.query_adapter import QueryAdapter, adapter_unpack
from ragcore.errors import AdapterRefusedError

MOST_IN_SEARCH = 4
LIVE_ONE, NONE = -1, 0  # values of the option `query_adapter`; others are numbers of versions of the set asked alone
KEPT = 64  # unpacked, in one process; 400 kB each

State = Row.State
Live = tuple[tuple[int, int], ...]  # (set, row)
_live: EpochCache[Live] = EpochCache()


def adapters_of_search(*, scope: Scope, visible: Visible, sets: Sequence[int] = (), version: int = LIVE_ONE) -> Live:
    """(set, adapter's id) of the adapters that take part in a search, at most MOST_IN_SEARCH."""
    if version == NONE:
        return ()
    if version > 0:
        return _version_of(scope, sets, version) if len(sets) == 1 else ()
    epoch = epoch_of(scope=scope, visible=visible)
    live = _live.get((scope.tenant_id,), epoch=epoch, make=lambda: _live_ones(scope.tenant_id))
    if not live:
        return ()
    asked = sets_asked(scope=scope, visible=visible, sets=sets)
    return tuple(one for one in live if one[0] in asked)[:MOST_IN_SEARCH]


def sets_asked(*, scope: Scope, visible: Visible, sets: Sequence[int] = ()) -> set[int]:
    """Those of the sets that are asked (() for all) that the asker may read."""
    readable = set(visible.readable if visible.readable is not None else _readable(scope))
    return readable & set(sets) if sets else readable


def _readable(scope: Scope) -> Sequence[int]:
    return list(sets_readable(scope=scope).order_by().values_list("pk", flat=True))


def _live_ones(tenant_id: int) -> Live:
    rows = Row.objects.filter(tenant_id=tenant_id, state=State.LIVE)
    return tuple(rows.order_by("knowledge_set_id").values_list("knowledge_set_id", "pk"))


def _version_of(scope: Scope, sets: Sequence[int], number: int) -> Live:
    readable = sets_readable(scope=scope).order_by().values("pk")
    rows = Row.objects.filter(knowledge_set_id=sets[0], knowledge_set__in=readable, number=number)
    return tuple(rows.filter(state__in=Row.USABLE).values_list("knowledge_set_id", "pk"))


def adapter_load(row: int, *, scope: Scope) -> QueryAdapter | None:
    """An adapter by its id; None where it was made for another embedding model than the one in use, or is damaged."""
    return _unpacked(row, space_name(scope=scope), space_dimensions(scope=scope))


@lru_cache(maxsize=KEPT)
def _unpacked(row: int, model: str, dimensions: int) -> QueryAdapter | None:
    stored = Row.objects.filter(pk=row, model=model).values_list("weights", flat=True).first()
    if stored is None:
        return None
    try:
        return adapter_unpack(bytes(stored), dimensions=dimensions)
    except AdapterRefusedError:
        return None


# ── to see and switch ───────────────────────────────────────────────────────────────────────────


def adapters_of_set(*, scope: Scope, set_id: int) -> QuerySet[Row]:
    """Trainings of a set, the latest first, for its owners. Raises NotFoundError, NotAllowedError."""
    home = set_owned(scope=scope, set_id=set_id)
    rows = Row.objects.filter(knowledge_set=home).select_related("author")
    return rows.defer("pairs", "checkpoint", "weights")


def adapters_managed(*, scope: Scope) -> QuerySet[Row]:
    """Trainings of all sets that the asker owns, the latest first."""
    rows = Row.objects.filter(knowledge_set__in=sets_managed(scope=scope).order_by().values("pk"))
    return rows.select_related("knowledge_set", "author").defer("pairs", "checkpoint", "weights")


def adapter_get(*, scope: Scope, adapter_id: int) -> Row:
    """A training of a set that the asker owns. Raises NotFoundError."""
    row = adapters_managed(scope=scope).filter(pk=adapter_id).first()
    if row is None:
        raise NotFoundError("query_adapter", adapter=adapter_id)
    return row
