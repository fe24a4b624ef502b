"""Advisory locks of Postgres, so that of some kinds of work only one runs at a time (D28, D39).

A lock of a session is held until its context ends, one of a transaction until the transaction ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from knowledge.indexes.statements import fetch

TRY_SESSION = "SELECT pg_try_advisory_lock(hashtextextended(%(name)s, 0))"
UNLOCK_SESSION = "SELECT pg_advisory_unlock(hashtextextended(%(name)s, 0))"
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended(%(name)s, 0))"
LOCK_SHARED = "SELECT pg_advisory_xact_lock_shared(hashtextextended(%(name)s, 0))"
TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended(%(name)s, 0))"


# ── locks of a session ──────────────────────────────────────────────────────────────────────────


@contextmanager
def maintenance_try_lock() -> Iterator[bool]:
    """True while this connection may do maintenance; False if another one does."""
    with _session_lock("ragsite.maintenance") as held:
        yield held


@contextmanager
def backend_try_lock() -> Iterator[bool]:
    """True while this connection may write to the other search backend; False if another one does.

    One writer at a time: two could overtake each other, and a deleted passage would come back.
    """
    with _session_lock("ragsite.backend") as held:
        yield held


@contextmanager
def _session_lock(name: str) -> Iterator[bool]:
    held = bool(fetch(TRY_SESSION, {"name": name})[0][0])
    try:
        yield held
    finally:
        if held:
            fetch(UNLOCK_SESSION, {"name": name})


# ── locks of a transaction ──────────────────────────────────────────────────────────────────────


def sync_runs_lock() -> None:
    """Wait until no other transaction counts running source runs: the count stays true until the commit."""
    fetch(LOCK, {"name": "ragsite.turns"})


def comparison_try_lock() -> bool:
    """True if this transaction is the only one that compares versions."""
    return bool(fetch(TRY_LOCK, {"name": "ragsite.compare"})[0][0])


def files_lock_shared(*, tenant_id: int) -> None:
    """No stored file of the tenant is removed until the transaction ends. Many transactions may share the lock."""
    fetch(LOCK_SHARED, {"name": f"ragsite.files.{tenant_id}"})


def files_lock_exclusive(*, tenant_id: int) -> None:
    """Wait until nobody shares the tenant's files any more, and keep others out until the transaction ends."""
    fetch(LOCK, {"name": f"ragsite.files.{tenant_id}"})
