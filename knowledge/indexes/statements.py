"""Run hand-written SQL: named parameters, one round trip for many, a time limit; advisory locks.

A lock of a session is held until its context ends, one of a transaction until the transaction ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from threading import BoundedSemaphore
from typing import Any, TypeVar

from django.db import connection, transaction

# The planner counts pages of a table, not those of values outside of their rows, which a scan would read for each row.
INDEX_ONLY = "SET LOCAL enable_seqscan = off; {sql}; SET LOCAL enable_seqscan = on"
LIMIT = "SELECT set_config('statement_timeout', %(milliseconds)s, true)"
A = TypeVar("A")
B = TypeVar("B")
CORES = os.cpu_count() or 1
SLOTS = BoundedSemaphore(max(1, CORES - 1))  # more at once would make nobody faster
TRY_SESSION = "SELECT pg_try_advisory_lock(hashtextextended(%(name)s, 0))"
WAIT_SESSION = "SELECT pg_advisory_lock(hashtextextended(%(name)s, 0))"
UNLOCK_SESSION = "SELECT pg_advisory_unlock(hashtextextended(%(name)s, 0))"
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%(name)s, 0))"
LOCK_SHARED = "SELECT pg_advisory_xact_lock_shared(hashtextextended(%(name)s, 0))"
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended(%(name)s, 0))"


def fetch(sql: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall()


def fetch_many(sql: str, params: Sequence[Mapping[str, Any]]) -> list[list[tuple[Any, ...]]]:
    """All rows of the same query for each set of parameters, in one round trip."""
    if len(params) == 1:
        return [fetch(sql, params[0])]
    connection.ensure_connection()
    with connection.connection.pipeline():
        cursors = [connection.connection.execute(sql, values) for values in params]
    return [cursor.fetchall() for cursor in cursors]


def fetch_by_index(sql: str, params: Sequence[Mapping[str, Any]]) -> list[list[tuple[Any, ...]]]:
    """`fetch_many` where no table may be read from end to end; one round trip for each set of parameters."""
    answers = []
    for values in params:
        with connection.cursor() as cursor:
            cursor.execute(INDEX_ONLY.format(sql=sql), values)
            cursor.nextset()
            answers.append(cursor.fetchall())
    return answers


def execute(sql: str, params: Mapping[str, Any]) -> int:
    """The number of rows that a statement touched."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.rowcount


def ids_text(ids: Iterable[int]) -> str:
    """An array of numbers as text, for `%(name)s::bigint[]`: the driver takes milliseconds to write a long list."""
    return f"{{{','.join(map(str, ids))}}}"


# ── time limits ───────────────────────────────────────────────────────────────────────────────────


@contextmanager
def statement_timeout(*, seconds: float) -> Iterator[None]:
    """A transaction with a time limit for each statement: an abandoned search must not keep its connection.

    A statement over the limit raises OperationalError.
    """
    with transaction.atomic():
        fetch(LIMIT, {"milliseconds": str(int(1000 * seconds))})
        yield


# ── two searches at once ──────────────────────────────────────────────────────────────────────────


def run_concurrently(first: Callable[[], A], second: Callable[[], B], *, seconds: float) -> tuple[A, B]:
    """Run both and return both results; `first` on its own connection, with `seconds` for each of its statements.

    While all slots are taken they run one after the other, so no thread that holds a connection waits for another one.
    What `first` reads must be committed. Errors of either are raised when both have ended.
    """
    if not SLOTS.acquire(blocking=False):
        return first(), second()
    try:
        running = _threads().submit(_apart, first, seconds)
        try:
            other = second()
        finally:
            wait([running])
        return running.result(), other
    finally:
        SLOTS.release()


def _apart(search: Callable[[], A], seconds: float) -> A:
    try:
        with statement_timeout(seconds=seconds):
            return search()
    finally:
        connection.close()  # back to the pool


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=max(1, CORES - 1), thread_name_prefix="search")


# ── locks of a session ──────────────────────────────────────────────────────────────────────────


@contextmanager
def maintenance_try_lock() -> Iterator[bool]:
    """True while this connection may do maintenance; False if another one does."""
    with _session_lock("ragsite.maintenance") as has_lock:
        yield has_lock


@contextmanager
def backend_try_lock() -> Iterator[bool]:
    """True while this connection may write to the other search backend; False if another one does.

    One writer at a time: two could overtake each other, and a deleted passage would come back.
    """
    with _session_lock("ragsite.backend") as has_lock:
        yield has_lock


@contextmanager
def embedder_fit_lock() -> Iterator[None]:
    """Wait until no other process measures an embedding model for the first time, and keep others out meanwhile."""
    name = {"name": "ragsite.embedder_fit"}
    fetch(WAIT_SESSION, name)
    try:
        yield
    finally:
        fetch(UNLOCK_SESSION, name)


@contextmanager
def work_lock(*, name: str) -> Iterator[None]:
    """Wait until no other connection does the work of this name, and keep others out meanwhile."""
    names = {"name": f"ragsite.work.{name}"}
    fetch(WAIT_SESSION, names)
    try:
        yield
    finally:
        fetch(UNLOCK_SESSION, names)


@contextmanager
def _session_lock(name: str) -> Iterator[bool]:
    has_lock = bool(fetch(TRY_SESSION, {"name": name})[0][0])
    try:
        yield has_lock
    finally:
        if has_lock:
            fetch(UNLOCK_SESSION, {"name": name})


# ── locks of a transaction ──────────────────────────────────────────────────────────────────────


def queue_turns_lock(*, queue: str) -> None:
    """Wait until no other transaction decides whose turn it is in a queue of ingestion."""
    fetch(LOCK, {"name": f"ragsite.turns.{queue}"})


def comparison_try_lock() -> bool:
    """True if this transaction is the only one that compares versions."""
    return bool(fetch(TRY_LOCK, {"name": "ragsite.compare"})[0][0])


def files_lock_shared(*, tenant_id: int) -> None:
    """No stored file of the tenant is removed until the transaction ends. Many transactions may share the lock."""
    fetch(LOCK_SHARED, {"name": f"ragsite.files.{tenant_id}"})


def files_lock_exclusive(*, tenant_id: int) -> None:
    """Wait until nobody shares the tenant's files any more, and keep others out until the transaction ends."""
    fetch(LOCK, {"name": f"ragsite.files.{tenant_id}"})


def lexicon_lock(*, tenant_id: int, set_id: int | None) -> None:
    """Wait until no other transaction imports a file into this lexicon; without a set, into that of the tenant."""
    fetch(LOCK, {"name": f"ragsite.lexicon.{tenant_id}.{set_id or 0}"})


def embedder_lock_shared() -> None:
    """The embedding model of the site stays what it is until the transaction ends. Many transactions may share it."""
    fetch(LOCK_SHARED, {"name": "ragsite.embedder"})


def embedder_vectors_lock() -> None:
    """Wait until no other transaction stores vectors of entries that exist: none is stored twice."""
    fetch(LOCK, {"name": "ragsite.embedder_vectors"})


def embedder_lock_exclusive() -> None:
    """Wait until nobody writes entries any more, and keep others out until the transaction ends."""
    fetch(LOCK, {"name": "ragsite.embedder"})
