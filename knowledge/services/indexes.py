"""Keeping the index in shape, in the background."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from knowledge.indexes.statistics import document_sides_rebuild, statistics_drifted
from knowledge.indexes.tail import entries_purge, tail_merge, tenants_beyond
from knowledge.indexes.vectors import EXACT_LIMIT

MERGE_BATCH = 500  # entries; HNSW inserts are slow, so each batch is its own transaction
PURGE_AGE_SECONDS = 24 * 3600.0
PURGE_BATCH = 5000
MAX_MERGE_BATCHES = 20  # per run; the next run goes on


@dataclass(frozen=True, slots=True)
class Refreshed:
    """How many entries were touched."""

    reweighed: int
    merged: int
    purged: int


def indexes_refresh() -> Refreshed:
    """Recompute drifted BM25 weights, feed the HNSW indexes of large tenants, delete what nothing can reach."""
    return Refreshed(reweighed=_reweigh(), merged=_merge(), purged=_purge())


def _reweigh() -> int:
    changed = 0
    for tenant_id, language in statistics_drifted():
        with transaction.atomic():
            changed += document_sides_rebuild(tenant_id=tenant_id, language=language)
    return changed


def _merge() -> int:
    moved = 0
    for tenant_id in tenants_beyond(EXACT_LIMIT):
        for _ in range(MAX_MERGE_BATCHES):
            with transaction.atomic():
                count = tail_merge(tenant_id=tenant_id, limit=MERGE_BATCH)
            moved += count
            if count < MERGE_BATCH:
                break
    return moved


def _purge() -> int:
    with transaction.atomic():
        return entries_purge(age_seconds=PURGE_AGE_SECONDS, limit=PURGE_BATCH)
