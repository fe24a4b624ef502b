"""Moving a tenant's passages to another search backend while people search, and back (D39).

1. Changes are noted from now on (`outbox_watch` waits for the writers at work). 2. What is live is copied page by page,
each in a short transaction, so that nothing holds old rows of Postgres for hours. 3. What has changed meanwhile is
applied. 4. Only then is the tenant searched there. An interrupted copy goes on after its last page.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from accounts.models import Tenant
from knowledge.backends.milvus.collection import collection_drop, collection_ensure, collection_name
from knowledge.backends.milvus.writing import entries_delete, entries_upsert, ids_between
from knowledge.errors import BackendBusyError, BackendNotConfiguredError
from knowledge.indexes.export import entries_counted, entries_of_tenant, entry_ids
from knowledge.indexes.outbox import backend_alone, changes_forget, outbox_is_watching, outbox_watch
from knowledge.models import Document, KnowledgeSet, TenantBackend
from knowledge.services.backends.applying import changes_drain, documents_write

PAGE = 1000  # entries
DOCUMENTS = 50  # at a time
WINDOW = 50_000  # entry ids compared at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """How far a copy is."""

    tenant: str
    done: int  # entries
    total: int
    is_ready: bool = False


def backend_copy(*, tenant: Tenant) -> Iterator[Copied]:
    """Copy a tenant's live entries, or what is left of an interrupted copy, then search them there.

    A tenant that is searched there already is copied anew, without a gap.
    Raises BackendNotConfiguredError, BackendBusyError, BackendUnavailableError, BackendRefusedError.
    """
    with writing_alone():
        collection = collection_name()
        row = _start(tenant, is_new=collection_ensure(collection))
        counted = entries_counted(tenant_id=tenant.pk, after=row.after)
        done, total = counted.before, counted.total
        while page := entries_of_tenant(tenant_id=tenant.pk, after=row.after, limit=PAGE):
            entries_upsert(collection, page)
            row.after = page[-1].id
            row.save(update_fields=["after"])
            done += len(page)
            yield Copied(tenant=tenant.name, done=min(done, total), total=total)
        _strays_remove(collection, tenant_id=tenant.pk, last=max(counted.last, row.after))
        changes_drain(tenant_id=tenant.pk)
        row.ready, row.after = timezone.now(), 0
        row.save(update_fields=["ready", "after"])
        yield Copied(tenant=tenant.name, done=total, total=total, is_ready=True)


def backend_refresh(*, chosen: KnowledgeSet) -> Iterator[Copied]:
    """Write the documents of one set anew; its tenant must have been copied. Switches nothing."""
    with writing_alone():
        ids = list(Document.objects.filter(sets=chosen).order_by("pk").values_list("pk", flat=True))
        for start in range(0, len(ids), DOCUMENTS):
            part = ids[start : start + DOCUMENTS]
            documents_write(collection_name(), part)
            yield Copied(tenant=chosen.tenant.name, done=start + len(part), total=len(ids))


def backend_leave() -> int:
    """Search everything in Postgres again; returns how many tenants were elsewhere. Works without the backend."""
    left, _ = TenantBackend.objects.all().delete()
    outbox_watch(on=False)
    changes_forget()
    return left


def collection_remove() -> None:
    """Drop what is stored in the backend. Call after `backend_leave`."""
    collection_drop(collection_name())


@contextmanager
def writing_alone() -> Iterator[None]:
    """Raises BackendNotConfiguredError, BackendBusyError."""
    if settings.SEARCH_BACKEND != "milvus":
        raise BackendNotConfiguredError
    with backend_alone() as alone:
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
