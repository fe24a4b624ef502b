"""How much there is to search: within the asker's rights (B6), in the whole tenant, and outside of the HNSW index.

Each document carries how many passages and entries its live version has (`knowledge.indexes.statistics`), so that
counting reads documents and no entries. A count is made again whenever the corpus epoch has moved, except where
counting takes long: there it may be a minute old. What is counted is shown to people and chooses plans; no result
depends on it.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from accounts.scope import Scope
from knowledge.indexes.rows import fetch
from knowledge.indexes.visibility import Visible

T = TypeVar("T")

KEPT = 1000  # counts a process remembers
CHEAP_SECONDS = 0.02  # what may be counted anew after every change
STALE_SECONDS = 60.0  # how old a dearer count may be
TAIL_LIMIT = 200_000  # entries outside of the index that are told apart
TAIL_SECONDS = 10.0  # merging advances no epoch

VISIBLE = """
SELECT coalesce(sum(d.passages), 0), coalesce(sum(d.entries), 0), count(*)
FROM knowledge_document d
WHERE d.entries > 0 AND d.live_version_id IS NOT NULL AND d.id IN ({visible})
"""
OF_TENANT = """
SELECT coalesce(sum(d.passages), 0), coalesce(sum(d.entries), 0), count(*)
FROM knowledge_document d
WHERE d.entries > 0 AND d.live_version_id IS NOT NULL AND d.deleted IS NULL AND d.tenant_id = %(tenant)s
"""
EPOCH = "SELECT value FROM knowledge_corpusepoch WHERE tenant_id = %(tenant)s"
TAIL = """
SELECT count(*) FROM (
    SELECT 1 FROM knowledge_indexentry WHERE tenant_id = %(tenant)s AND NOT merged LIMIT %(limit)s
) counted
"""


@dataclass(frozen=True, slots=True)
class Counted:
    """Live passages, their entries in the index, and the documents that they belong to."""

    passages: int
    entries: int
    documents: int


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    value: T
    epoch: int
    at: float  # time.monotonic()
    seconds: float  # that it took


@dataclass(slots=True)
class Memory(Generic[T]):
    """The last values of a process by key, oldest use first to go. Thread-safe; a value may be made twice at once."""

    limit: int = KEPT
    kept: OrderedDict[tuple[object, ...], _Kept[T]] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: tuple[object, ...], *, epoch: int, make: Callable[[], T], stale: float | None = None) -> T:
        """The value of this epoch; an older one where making it is dear and it is younger than `stale` seconds."""
        found, now = self._found(key), time.monotonic()
        if found is not None and (found.epoch == epoch or _may_be_old(found, now, stale)):
            return found.value
        value = make()
        self.put(key, value, epoch=epoch, seconds=time.monotonic() - now)
        return value

    def peek(self, key: tuple[object, ...], *, epoch: int) -> T | None:
        """The value of this epoch, if it is known."""
        found = self._found(key)
        return found.value if found is not None and found.epoch == epoch else None

    def put(self, key: tuple[object, ...], value: T, *, epoch: int, seconds: float = 0.0) -> None:
        with self.lock:
            self.kept[key] = _Kept(value, epoch, time.monotonic(), seconds)
            if len(self.kept) > self.limit:
                self.kept.popitem(last=False)

    def _found(self, key: tuple[object, ...]) -> _Kept[T] | None:
        with self.lock:
            if (found := self.kept.get(key)) is not None:
                self.kept.move_to_end(key)
            return found

    def clear(self) -> None:
        with self.lock:
            self.kept.clear()


def _may_be_old(found: _Kept[T], now: float, stale: float | None) -> bool:
    return stale is not None and found.seconds > CHEAP_SECONDS and now - found.at < stale


counts: Memory[Counted] = Memory()
tails: Memory[int] = Memory()


def visible_key(visible: Visible) -> str:
    """What tells the rights and filters of one search from those of another."""
    return hashlib.blake2b(f"{visible.sql} {sorted(visible.params.items())!r}".encode()).hexdigest()


def passages_visible(*, scope: Scope, visible: Visible, epoch: int) -> int:
    """Live passages that the asker may see, each once, whatever stands for it in the index."""
    return visible_counted(scope=scope, visible=visible, epoch=epoch).passages


def visible_counted(*, scope: Scope, visible: Visible, epoch: int) -> Counted:
    """What the asker may see."""

    def make() -> Counted:
        return _counted(VISIBLE.format(visible=visible.sql), {**visible.params, "tenant": scope.tenant_id})

    return counts.get((scope.tenant_id, visible_key(visible)), epoch=epoch, make=make, stale=STALE_SECONDS)


def tenant_counted(*, tenant_id: int, epoch: int) -> Counted:
    """What is live in a tenant, whoever may see it."""
    return counts.get(
        (tenant_id, ""),
        epoch=epoch,
        make=lambda: _counted(OF_TENANT, {"tenant": tenant_id}),
        stale=STALE_SECONDS,
    )


def tail_length(*, tenant_id: int) -> int:
    """Entries outside of the HNSW index, at most TAIL_LIMIT; some seconds old at most."""
    ticks = int(time.monotonic() / TAIL_SECONDS)
    params = {"tenant": tenant_id, "limit": TAIL_LIMIT}
    return tails.get((tenant_id,), epoch=ticks, make=lambda: int(fetch(TAIL, params)[0][0]))


def epoch_now(*, tenant_id: int) -> int:
    """The corpus epoch of a tenant."""
    found = fetch(EPOCH, {"tenant": tenant_id})
    return int(found[0][0]) if found else 0


def epoch_of(*, scope: Scope, visible: Visible) -> int:
    """The corpus epoch that a search goes by."""
    return epoch_now(tenant_id=scope.tenant_id) if visible.epoch is None else visible.epoch


def _counted(sql: str, params: dict[str, object]) -> Counted:
    passages, entries, documents = fetch(sql, params)[0]
    return Counted(int(passages), int(entries), int(documents))
