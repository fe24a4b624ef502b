"""The outbox to the other backend: what documents are by now, in order, as often as it takes.

A change says which document, not what to do. Its entries are read from Postgres, those that are not among them are
deleted in the backend first, the others are written. So it does not matter how often or how late a change is applied,
and what is deleted never comes back: whoever deletes it afterwards leaves a change that is applied afterwards.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from django.conf import settings
from django.core.cache import cache
from django.db import transaction

from knowledge.backends.milvus.collection import collection_ensure, collection_name
from knowledge.backends.milvus.writing import entries_delete, entries_upsert, ids_of_documents
from knowledge.errors import BackendRefusedError, BackendUnavailableError
from knowledge.indexes.export import entries_of_documents, entry_ids_of_documents
from knowledge.indexes.outbox import (
    Change,
    backend_alone,
    changes_compact,
    changes_done,
    changes_forget,
    changes_put_off,
    changes_take,
)
from knowledge.queue import APPLY_BACKEND_CHANGES, enqueue_on_commit

logger = logging.getLogger(__name__)

BATCH = 100  # changes
PAGE = 1000  # entries read at a time
RUN_SECONDS = 20.0  # of one task; the next one goes on
LONGEST_PAUSE_SECONDS = 300
PAUSE_KEY = "knowledge.backend.pause"
FAILURES_KEY = "knowledge.backend.failures"


def backend_changes_apply() -> int:
    """Apply what waits; returns how many changes. Safe to call at any time and from anywhere.

    While the backend does not answer, changes wait and it is tried again after 2, 4, … 300 seconds.
    """
    if settings.SEARCH_BACKEND == "postgres":
        changes_forget()
        changes_compact()
        return 0
    if cache.get(PAUSE_KEY):
        return 0
    with backend_alone() as alone:
        if not alone:  # the one at work looks again before it ends; what it misses is found by the next sweep
            return 0
        try:
            applied, more = _apply_for(RUN_SECONDS)
        except BackendUnavailableError:
            _pause()
            return 0
    cache.delete(FAILURES_KEY)
    if more:
        enqueue_on_commit(APPLY_BACKEND_CHANGES)
    return applied


def changes_drain(*, tenant_id: int) -> int:
    """Apply everything that waits for a tenant, also one that is not searched there yet. Call under `backend_alone`."""
    applied = 0
    while changes := changes_take(limit=BATCH, tenant_id=tenant_id):
        _apply(collection_name(), changes)
        applied += len(changes)
    return applied


def documents_write(collection: str, document_ids: Sequence[int]) -> int:
    """Bring the backend to what these documents are now; returns the number of their entries. Idempotent.

    Call under `backend_alone`.
    """
    stale = ids_of_documents(collection, document_ids) - entry_ids_of_documents(document_ids=document_ids)
    entries_delete(collection, sorted(stale))  # before anything is written
    after = written = 0
    while page := entries_of_documents(document_ids=document_ids, after=after, limit=PAGE):
        entries_upsert(collection, page)
        after, written = page[-1].id, written + len(page)
    return written


def _apply_for(seconds: float) -> tuple[int, bool]:
    """(changes applied, whether there are more)."""
    changes_forget()
    until, applied = time.monotonic() + seconds, 0
    if not (changes := changes_take(limit=BATCH)):
        return 0, False
    collection_ensure(collection_name())
    while changes:
        _apply(collection_name(), changes)
        applied += len(changes)
        if time.monotonic() >= until:
            return applied, True
        changes = changes_take(limit=BATCH)
    return applied, False


def _apply(collection: str, changes: Sequence[Change]) -> None:
    """All at once; where the backend refuses that, each document by itself, so that one cannot hold up the others."""
    try:
        documents_write(collection, sorted({change.document_id for change in changes}))
    except BackendRefusedError:
        for change in changes:
            _apply_one(collection, change)
        return
    changes_done([change.id for change in changes])


def _apply_one(collection: str, change: Change) -> None:
    try:
        documents_write(collection, [change.document_id])
    except BackendRefusedError as error:
        seconds = min(LONGEST_PAUSE_SECONDS * 12, 30 * 2**change.attempts)
        logger.error("document %s is tried again in %d s: %s", change.document_id, seconds, error.message)
        changes_put_off([change.id], seconds=seconds)
        return
    changes_done([change.id])


def _pause() -> None:
    """Leave the backend alone for a while, longer each time."""
    cache.add(FAILURES_KEY, 0, timeout=3600)
    seconds = min(LONGEST_PAUSE_SECONDS, 2 ** cache.incr(FAILURES_KEY))
    cache.set(PAUSE_KEY, 1, timeout=seconds)
    with transaction.atomic():
        enqueue_on_commit(APPLY_BACKEND_CHANGES, countdown_seconds=seconds + 1)
