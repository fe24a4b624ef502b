"""Soft deletion by the system: documents that a source no longer has, or that a newer document replaces."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from knowledge.errors import error_columns
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.lexical_statistics import statistics_lock, versions_count
from knowledge.models import Document
from ragcore.errors import RagError

BATCH = 500  # documents a transaction


def documents_withdraw(*, tenant_id: int, document_ids: Sequence[int], reason: RagError | None = None) -> int:
    """Remove documents of one tenant from every search and answer; returns how many were still there.

    `reason` is stored on the documents, to explain where they went. Idempotent.
    """
    ids = sorted(document_ids)
    return sum(_withdraw(tenant_id, ids[start : start + BATCH], reason) for start in range(0, len(ids), BATCH))


@transaction.atomic
def _withdraw(tenant_id: int, ids: Sequence[int], reason: RagError | None) -> int:
    """Locks in the order of publishing: statistics, documents, epoch."""
    statistics_lock(tenant_id=tenant_id)
    rows = Document.objects.select_for_update().filter(tenant_id=tenant_id, pk__in=ids, deleted=None).order_by("pk")
    found = dict(rows.values_list("pk", "live_version_id"))
    if not found:
        return 0
    live = [version for version in found.values() if version]
    versions_count(tenant_id=tenant_id, versions=live, sign=-1)
    now = timezone.now()
    said = error_columns(reason) if reason else {}
    Document.objects.filter(pk__in=found).update(deleted=now, state=Document.State.DELETED, updated=now, **said)
    epoch_advance(tenant_id=tenant_id)
    return len(found)
