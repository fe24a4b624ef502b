"""Counts and removes remains of deleted documents in tables, index, files and the other backend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from accounts.models import Tenant
from knowledge.backends.milvus.collection import collection_name, entries_delete, ids_of_documents
from knowledge.indexes.index_maintenance import entries_purge
from knowledge.models import Document, IndexEntry, TenantBackend
from knowledge.picture_store import pictures_expire
from knowledge.services.deletion import purge

AT_A_TIME = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """Numbers by place. `cited`: documents that stored answers still need (PURGE_CITED)."""

    documents: int
    cited: int
    entries: int
    in_backend: int
    files: int

    @property
    def is_clean(self) -> bool:
        """Whether only what answers cite is left."""
        return not (self.documents or self.entries or self.in_backend or self.files)


def leftovers_count(*, days: int) -> Leftovers:
    """What of documents that were deleted more than `days` ago is still there."""
    before = timezone.now() - timedelta(days=days)
    due, would = Document.objects.filter(deleted__lt=before), purge(days=days, dry_run=True)
    cited = due.filter(citations__isnull=False).distinct().count()
    return Leftovers(
        documents=due.count() - cited,
        cited=cited,
        entries=IndexEntry.objects.filter(version__document__in=due)
        .exclude(version__document__citations__isnull=False)
        .count(),
        in_backend=sum(len(ids) for ids in _in_backend(before_days=days)),
        files=would.files,
    )


def leftovers_remove(*, days: int) -> Leftovers:
    """Removes remains of deleted documents; returns what is left."""
    for ids in _in_backend(before_days=days):
        entries_delete(collection_name(), sorted(ids))
    purge(days=days)
    while entries_purge(age_seconds=days * 86400.0, limit=AT_A_TIME):
        continue
    pictures_expire()
    return leftovers_count(days=days)


def deleted_purge() -> None:
    """Every night: what was deleted PURGE_AFTER_DAYS ago is gone a day later, unless stored answers cite it."""
    leftovers_remove(days=settings.PURGE_AFTER_DAYS)


def _in_backend(*, before_days: int) -> Iterator[set[int]]:
    """Entries of deleted documents that the other search backend still has, some documents at a time."""
    if settings.SEARCH_BACKEND != "milvus":
        return
    before = timezone.now() - timedelta(days=before_days)
    for tenant in Tenant.objects.filter(pk__in=TenantBackend.objects.values("tenant")):
        gone = list(Document.objects.filter(tenant=tenant, deleted__lt=before).values_list("pk", flat=True))
        for start in range(0, len(gone), AT_A_TIME):
            if ids := ids_of_documents(collection_name(), gone[start : start + AT_A_TIME]):
                yield ids
