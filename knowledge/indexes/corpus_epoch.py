"""The corpus epoch of a tenant and of its sets, and values cached for one epoch."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from django.conf import settings

from accounts.scope import Scope
from knowledge.indexes.reader_lists import LISTS, NamedIn, lists_params, lists_value
from knowledge.indexes.statements import fetch
from knowledge.indexes.visibility import Visible
from knowledge.queue import APPLY_BACKEND_CHANGES, FILL_SET_VECTORS, enqueue_on_commit
from work.queue import due_enqueue

T = TypeVar("T")

MAX_VALUES = 1000  # of one cache
CHEAP_SECONDS = 0.02  # a value that takes less is made again after every change

HAS_EDITIONS = """EXISTS (
    SELECT 1 FROM knowledge_documentrelation
    WHERE tenant_id = %(tenant)s AND kind = 'replaces' AND target_id IS NOT NULL AND NOT dismissed
)"""
EPOCH = "SELECT value FROM knowledge_corpusepoch WHERE tenant_id = %(tenant)s"
RIGHTS = """
SELECT coalesce((SELECT value FROM knowledge_corpusepoch WHERE tenant_id = %(tenant)s), 0), ARRAY({ids}), {lists},
    {editions}
"""
HAS_SET_EMBEDDERS = """EXISTS (
    SELECT 1 FROM knowledge_setembedder WHERE tenant_id = %(tenant)s AND state IN ('live', 'building', 'ready', 'off')
)"""
STATE = f"""
SELECT coalesce((SELECT value FROM knowledge_corpusepoch WHERE tenant_id = %(tenant)s), 0), {HAS_EDITIONS}
"""  # noqa: S608 - constants
# Numbers of a sequence are never taken back: an epoch that was rolled back is not the number of another state.
NEXT = "SELECT nextval('knowledge_corpus_epoch_number') AS number"
ADVANCE = f"""
INSERT INTO knowledge_corpusepoch (tenant_id, value, everywhere)
SELECT %(tenant)s, next.number, next.number FROM ({NEXT}) next
ON CONFLICT (tenant_id) DO UPDATE SET value = EXCLUDED.value, everywhere = EXCLUDED.everywhere
RETURNING {HAS_SET_EMBEDDERS}
"""  # noqa: S608 - constants
ADVANCE_SETS = f"""
WITH tenant AS (
    INSERT INTO knowledge_corpusepoch (tenant_id, value, everywhere)
    SELECT %(tenant)s, next.number, 0 FROM ({NEXT}) next
    ON CONFLICT (tenant_id) DO UPDATE SET value = EXCLUDED.value
    RETURNING value
), changed AS (
    SELECT unnest(%(sets)s::bigint[]) AS id
    UNION
    SELECT knowledgeset_id FROM knowledge_document_sets WHERE document_id = ANY(%(documents)s::bigint[])
    UNION
    SELECT held.knowledgeset_id
    FROM knowledge_documentrelation r JOIN knowledge_document_sets held ON held.document_id = r.target_id
    WHERE r.source_id = ANY(%(documents)s::bigint[]) AND r.kind = 'replaces'
)
INSERT INTO knowledge_setepoch (knowledge_set_id, value) SELECT changed.id, tenant.value FROM tenant, changed
ON CONFLICT (knowledge_set_id) DO UPDATE SET value = EXCLUDED.value
RETURNING {HAS_SET_EMBEDDERS}
"""  # noqa: S608 - constants


def epoch_advance(
    *, tenant_id: int, sets: Collection[int] | None = None, documents: Collection[int] | None = None
) -> None:
    """Make cached answers of the tenant stale, as of the commit of the running transaction.

    `sets`, `documents`: only answers from these sets, and from the sets that hold these documents now; without both,
    answers from any set. A document that leaves a set needs that set in `sets`.

    Every change of what people can find calls this, so another search backend is notified from here, too, and so is who
    makes vectors by the models of sets.
    """
    if sets is None and documents is None:
        rows = fetch(ADVANCE, {"tenant": tenant_id})
    else:
        changed = {"sets": sorted(sets or ()), "documents": sorted(documents or ())}
        rows = fetch(ADVANCE_SETS, {"tenant": tenant_id, **changed})
    if any(row[0] for row in rows):
        due_enqueue(FILL_SET_VECTORS)
    if settings.SEARCH_BACKEND != "postgres":
        enqueue_on_commit(APPLY_BACKEND_CHANGES)


def epoch_now(*, tenant_id: int) -> int:
    """The corpus epoch of a tenant."""
    rows = fetch(EPOCH, {"tenant": tenant_id})
    return int(rows[0][0]) if rows else 0


def state_now(*, tenant_id: int) -> tuple[int, bool]:
    """The corpus epoch of a tenant, and whether any of its documents replaces another one."""
    epoch, has_editions = fetch(STATE, {"tenant": tenant_id})[0]
    return int(epoch), bool(has_editions)


@dataclass(frozen=True, slots=True)
class RightsNow:
    """What the asker's rights rest on, as of one moment."""

    epoch: int
    readable: tuple[int, ...]  # ids of sets
    lists: NamedIn | None  # of readers, see `reader_lists_load`
    has_editions: bool  # whether any document of the tenant replaces another one


def rights_load(*, scope: Scope, ids: str, params: Mapping[str, Any]) -> RightsNow:
    """The corpus epoch, ids of sets that a query yields (`ids_sql`), lists of readers, editions; in one statement."""
    row = fetch(RIGHTS.format(ids=ids, lists=LISTS, editions=HAS_EDITIONS), {**params, **lists_params(scope)})[0]
    return RightsNow(int(row[0]), tuple(sorted(row[1])), lists_value(row[2]), row[3])


def epoch_of(*, scope: Scope, visible: Visible) -> int:
    """The corpus epoch of a search: the one it began with, if that was read."""
    return epoch_now(tenant_id=scope.tenant_id) if visible.epoch is None else visible.epoch


# ── values of one epoch ─────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    value: T
    epoch: int
    at: float  # time.monotonic()
    seconds: float  # it took to make


@dataclass(slots=True)
class EpochCache(Generic[T]):
    """Values that are right for one corpus epoch, by key; the least recently used one leaves first.

    One a process. Thread-safe; two threads may make the same value at once.
    """

    limit: int = MAX_VALUES
    entries: OrderedDict[tuple[object, ...], _Entry[T]] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: tuple[object, ...], *, epoch: int, make: Callable[[], T], stale: float | None = None) -> T:
        """The value of this epoch; an older one if it was slow to make and is younger than `stale` seconds."""
        entry, now = self._find(key), time.monotonic()
        if entry is not None and (entry.epoch == epoch or _is_fresh_enough(entry, now, stale)):
            return entry.value
        value = make()
        self.put(key, value, epoch=epoch, seconds=time.monotonic() - now)
        return value

    def peek(self, key: tuple[object, ...], *, epoch: int) -> T | None:
        """The value of this epoch, or None."""
        entry = self._find(key)
        return entry.value if entry is not None and entry.epoch == epoch else None

    def put(self, key: tuple[object, ...], value: T, *, epoch: int, seconds: float = 0.0) -> None:
        with self.lock:
            self.entries[key] = _Entry(value, epoch, time.monotonic(), seconds)
            if len(self.entries) > self.limit:
                self.entries.popitem(last=False)

    def _find(self, key: tuple[object, ...]) -> _Entry[T] | None:
        with self.lock:
            if (entry := self.entries.get(key)) is not None:
                self.entries.move_to_end(key)
            return entry

    def clear(self) -> None:
        with self.lock:
            self.entries.clear()


def _is_fresh_enough(entry: _Entry[T], now: float, stale: float | None) -> bool:
    return stale is not None and entry.seconds > CHEAP_SECONDS and now - entry.at < stale
