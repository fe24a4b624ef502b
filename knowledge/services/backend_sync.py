"""Keep another search backend in step with Postgres, and move tenants there and back.

A change in the outbox says which document, not what to do. The document's entries are read from Postgres; entries of
the backend that are not among them are deleted first, the others are written. So it does not matter how often or how
late a change is applied, and deleted text never comes back: whoever deletes it leaves a later change.

Moving a tenant while people search: 1. Changes are recorded from now on (`outbox_watch` waits for running writers).
2. Live entries are copied page by page, each in a short transaction, so that no transaction holds old rows for hours.
3. Changes made meanwhile are applied. 4. Only then is the tenant searched there. An interrupted copy continues after
its last page.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.utils import timezone

from accounts.models import Tenant
from knowledge.backends.errors import (
    BackendBusyError,
    BackendNotConfiguredError,
    BackendRefusedError,
    BackendUnavailableError,
)
from knowledge.backends.milvus.collection import (
    collection_ensure,
    collection_name,
    entries_count,
    entries_delete,
    entries_upsert,
    fields_compared,
    ids_between,
    ids_of_documents,
    row_of,
    rows_compared,
)
from knowledge.indexes.backend_outbox import (
    Change,
    LiveEntry,
    changes_compact,
    changes_done,
    changes_forget,
    changes_put_off,
    changes_take,
    changes_waiting,
    entries_of_documents,
    entries_of_tenant,
    entries_sample,
    entry_counts,
    entry_ids,
    entry_ids_of_documents,
    outbox_is_watching,
    outbox_watch,
)
from knowledge.indexes.statements import backend_try_lock
from knowledge.model_registry import live_model
from knowledge.models import Document, KnowledgeSet, TenantBackend
from knowledge.queue import APPLY_BACKEND_CHANGES, enqueue_on_commit

# ── applying changes ──────────────────────────────────────────────────────────────────────────────


logger = logging.getLogger(__name__)

BATCH = 100  # changes
PAGE = 1000  # entries read at a time
RUN_SECONDS = 20.0  # of one task; the next one goes on
LONGEST_PAUSE_SECONDS = 300
PAUSE_KEY = "knowledge.backend.pause"
FAILURES_KEY = "knowledge.backend.failures"

SAMPLE = 200  # entries
DOCUMENTS = 50  # at a time
WINDOW = 50_000  # entry ids compared at a time


def backend_changes_apply() -> int:
    """Applies waiting changes to the other backend; returns their number. Idempotent and safe to run concurrently.

    While the backend does not answer, changes wait and it is tried again after 2, 4, … 300 seconds.
    """
    if settings.SEARCH_BACKEND == "postgres":
        changes_forget()
        changes_compact()
        return 0
    if cache.get(PAUSE_KEY):
        return 0
    with backend_try_lock() as alone:
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
    """Apply everything that waits for a tenant, also one that is not searched there yet.

    Call under `backend_try_lock`.
    """
    applied = 0
    while changes := changes_take(limit=BATCH, tenant_id=tenant_id):
        _apply(collection_name(), changes)
        applied += len(changes)
    return applied


def documents_write(collection: str, document_ids: Sequence[int]) -> int:
    """Bring the backend to what these documents are now; returns the number of their entries. Idempotent.

    Call under `backend_try_lock`.
    """
    stored_ids = entry_ids_of_documents(document_ids=document_ids, model=live_model())
    stale = ids_of_documents(collection, document_ids) - stored_ids
    entries_delete(collection, sorted(stale))  # before anything is written
    after = count = 0
    while page := entries_of_documents(document_ids=document_ids, model=live_model(), after=after, limit=PAGE):
        entries_upsert(collection, page)
        after, count = page[-1].id, count + len(page)
    return count


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


# ── checking ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendCheck:
    """What was counted and compared for one tenant."""

    tenant: str
    is_ready: bool
    in_postgres: int  # live entries
    in_backend: int
    sampled: int
    different: int  # of the sample: missing, or with other rights
    waiting: int  # documents whose changes are not applied yet
    refused: int  # of those, refused at least once

    @property
    def is_fine(self) -> bool:
        """Differences are no fault while changes wait."""
        return self.waiting > 0 or (self.in_postgres == self.in_backend and not self.different)


def backend_check(*, tenant: Tenant) -> BackendCheck:
    """Compare the counts and a sample. Raises BackendUnavailableError, BackendRefusedError."""
    collection = collection_name()
    row = TenantBackend.objects.filter(tenant=tenant).first()
    total = entry_counts(tenant_id=tenant.pk).total
    sample = entries_sample(tenant_id=tenant.pk, model=live_model(), total=total, limit=SAMPLE)
    stored = rows_compared(collection, [entry.id for entry in sample])
    waiting, refused = changes_waiting(tenant_id=tenant.pk)
    return BackendCheck(
        tenant=tenant.name,
        is_ready=row is not None and row.ready is not None,
        in_postgres=total,
        in_backend=entries_count(collection, tenant_id=tenant.pk),
        sampled=len(sample),
        different=sum(_differs(entry, stored.get(entry.id)) for entry in sample),
        waiting=waiting,
        refused=refused,
    )


def _differs(entry: LiveEntry, stored: Mapping[str, Any] | None) -> bool:
    return stored is None or fields_compared(row_of(entry)) != fields_compared(dict(stored))


# ── moving tenants ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyProgress:
    """How far a copy is."""

    tenant: str
    done: int  # entries
    total: int
    is_ready: bool = False


def backend_copy(*, tenant: Tenant) -> Iterator[CopyProgress]:
    """Copy a tenant's live entries, or what is left of an interrupted copy, then search them there.

    A tenant that is searched there already is copied anew, without a gap.
    Raises BackendNotConfiguredError, BackendBusyError, BackendUnavailableError, BackendRefusedError.
    """
    with backend_writer():
        collection = collection_name()
        row = _start(tenant, is_new=collection_ensure(collection))
        counted = entry_counts(tenant_id=tenant.pk, after=row.after)
        copied, total = counted.before, counted.total
        while page := entries_of_tenant(tenant_id=tenant.pk, model=live_model(), after=row.after, limit=PAGE):
            entries_upsert(collection, page)
            row.after = page[-1].id
            row.save(update_fields=["after"])
            copied += len(page)
            yield CopyProgress(tenant=tenant.name, done=min(copied, total), total=total)
        _strays_remove(collection, tenant_id=tenant.pk, last=max(counted.last, row.after))
        changes_drain(tenant_id=tenant.pk)
        row.ready, row.after = timezone.now(), 0
        row.save(update_fields=["ready", "after"])
        yield CopyProgress(tenant=tenant.name, done=total, total=total, is_ready=True)


def backend_refresh(*, chosen: KnowledgeSet) -> Iterator[CopyProgress]:
    """Write the documents of one set anew; its tenant must have been copied. Switches nothing."""
    with backend_writer():
        ids = list(Document.objects.filter(sets=chosen).order_by("pk").values_list("pk", flat=True))
        for start in range(0, len(ids), DOCUMENTS):
            part = ids[start : start + DOCUMENTS]
            documents_write(collection_name(), part)
            yield CopyProgress(tenant=chosen.tenant.name, done=start + len(part), total=len(ids))


def backend_leave() -> int:
    """Search everything in Postgres again; returns how many tenants were elsewhere. Works without the backend."""
    number, _ = TenantBackend.objects.all().delete()
    outbox_watch(on=False)
    changes_forget()
    return number


@contextmanager
def backend_writer() -> Iterator[None]:
    """Raises BackendNotConfiguredError, BackendBusyError."""
    if settings.SEARCH_BACKEND != "milvus":
        raise BackendNotConfiguredError
    with backend_try_lock() as alone:
        if not alone:
            raise BackendBusyError
        yield


def _start(tenant: Tenant, *, is_new: bool) -> TenantBackend:
    """Note changes from now on; a collection that is new, or another one, is not searched before it is full."""
    if not outbox_is_watching():
        outbox_watch(on=True)
    elsewhere = TenantBackend.objects.all() if is_new else TenantBackend.objects.exclude(collection=collection_name())
    elsewhere.update(ready=None, after=0, collection=collection_name())
    return TenantBackend.objects.get_or_create(tenant=tenant, defaults={"collection": collection_name()})[0]


def _strays_remove(collection: str, *, tenant_id: int, last: int) -> None:
    """Delete what an earlier copy has left and Postgres does not have any more."""
    for after in range(0, last, WINDOW):
        upto = after + WINDOW
        there = ids_between(collection, tenant_id=tenant_id, after=after, last=upto)
        entries_delete(collection, sorted(there - entry_ids(tenant_id=tenant_id, after=after, last=upto)))
