"""Maintenance of the index: refresh in the background, weekly rebuild, check and repair."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import connection, transaction

from knowledge.errors import MaintenanceRunningError
from knowledge.indexes.calibration import costs_measure
from knowledge.indexes.checks import (
    Drift,
    frequencies_drift,
    incomplete_documents,
    passages_drift,
    statistics_recount,
    totals_drift,
)
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.graph_triples import names_clean
from knowledge.indexes.index_maintenance import (
    entries_purge,
    entries_vacuum,
    hnsw_create,
    hnsw_drop,
    hnsw_is_valid,
    index_rebuild,
    index_size,
    large_tenants,
    leftover_drop,
    leftover_indexes,
    rebuildable_indexes,
    statistics_are_old,
    tables_analyse,
    tail_and_merged_count,
    tail_merge,
)
from knowledge.indexes.lexical_statistics import reweigh_begin, reweigh_step, reweighing_due, statistics_lock
from knowledge.indexes.rotation_switch import rotation_states
from knowledge.indexes.statements import maintenance_try_lock
from knowledge.services.deletion import purge
from knowledge.services.embedder_sweep import vectors_sweep
from knowledge.services.file_checks import files_check
from knowledge.services.set_embedder_fill import set_vectors_sweep
from knowledge.services.vector_cells import cells_refresh, tenants_in_cells
from knowledge.services.vector_rotations import rotations_refresh

# ── weekly: purge, rebuild, check ─────────────────────────────────────────────────────────────────


logger = logging.getLogger(__name__)

COUNTABLE = frozenset(
    {"entries", "length", "frequencies", "passages"}
)  # the others need their documents ingested again
MERGE_FROM = 60_000  # live entries of a tenant; with a few more its searches begin to use the index
MERGE_BATCH = 500  # entries; HNSW inserts are slow, so each batch is its own transaction
MAX_MERGE_BATCHES = 20  # per run; the next run goes on
BULK_FROM = 20_000  # entries outside of the index
BULK_SHARE = 0.25  # of those in it; beyond both limits a rebuild is faster than 200 inserts a second
BULK_BATCHES = 10  # without the index rows move quickly; a vacuum after each batch frees its space
PURGE_AGE_SECONDS = 24 * 3600.0
PURGE_BATCH = 5000
REWEIGH_SECONDS = 0.3  # how long publishing may wait
REWEIGH_ROWS = (50, 4000)  # of a batch, at least and at most
ANALYSE_SHARE, ANALYSE_LEAST = 0.1, 5000  # rows changed since the last time


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRebuild:
    """The rebuild of one index: its time, and its size before and after."""

    name: str
    seconds: float
    bytes_before: int
    bytes_after: int


def indexes_rebuild() -> Iterator[IndexRebuild]:
    """Rebuild the vector and word indexes one after another, beside readers and writers.

    Leftovers of an interrupted run are dropped first. Call outside a transaction.
    Raises MaintenanceRunningError while another process does the same.
    """
    with maintenance_try_lock() as alone:
        if not alone:
            raise MaintenanceRunningError
        for name in leftover_indexes():
            logger.warning("index %s was left by an interrupted rebuild and is dropped", name)
            leftover_drop(name)
        for name in rebuildable_indexes():
            yield _rebuilt(name)


def _rebuilt(name: str) -> IndexRebuild:
    before, start = index_size(name), time.monotonic()
    index_rebuild(name)
    return IndexRebuild(name=name, seconds=time.monotonic() - start, bytes_before=before, bytes_after=index_size(name))


def maintenance_run() -> None:
    """Purge, rebuild and check, with a log line for each step. Ends at once if another process does maintenance."""
    try:
        purged = purge(days=settings.PURGE_AFTER_DAYS)
        logger.info("purged: %s; names of facts that are gone: %s", purged, names_clean())
        logger.info("vectors by models of sets that no set needs: %d", set_vectors_sweep())
        logger.info("vectors by models that the site has given up: %d", vectors_sweep())
        for done in indexes_rebuild():
            logger.info("index %s was built anew in %.1f s", done.name, done.seconds)
    except MaintenanceRunningError:
        logger.info("another process does the maintenance")
        return
    for drift in index_check():
        logger.error("the index does not say what its entries say: %s", drift)
    for problem in files_check():
        logger.error("a stored file is not as its row says: %s", problem)


# ── check and repair ──────────────────────────────────────────────────────────────────────────────


def index_check() -> list[Drift]:
    """All differences between stored statistics and a recount, and all documents that are only half indexed."""
    return [*totals_drift(), *frequencies_drift(), *passages_drift(), *incomplete_documents()]


def index_repair(found: Sequence[Drift]) -> list[Drift]:
    """Recount the statistics of every tenant that needs it; returns the remaining differences."""
    for tenant_id in sorted({d.tenant_id for d in found if d.kind in COUNTABLE and d.tenant_id is not None}):
        with transaction.atomic():
            statistics_lock(tenant_id=tenant_id)
            statistics_recount(tenant_id=tenant_id)
            epoch_advance(tenant_id=tenant_id)
    return index_check()


# ── every few minutes ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class RefreshResult:
    """Numbers of changed entries."""

    reweighed: int
    merged: int
    purged: int


def indexes_refresh() -> RefreshResult:
    """Recompute drifted BM25 weights, move entries of large tenants into the HNSW index, delete unreachable entries."""
    if statistics_are_old(share=ANALYSE_SHARE, least=ANALYSE_LEAST):
        tables_analyse()
    return RefreshResult(reweighed=_reweigh(), merged=vectors_merge(), purged=_purge())


def _reweigh() -> int:
    """Recompute weights in batches: publishing waits for one batch at most."""
    changed, rows = 0, REWEIGH_ROWS[0]
    for tenant_id, language in reweighing_due():
        with transaction.atomic():
            reweigh_begin(tenant_id=tenant_id, language=language)
        while True:
            start = time.monotonic()
            with transaction.atomic():
                step = reweigh_step(tenant_id=tenant_id, language=language, limit=rows)
            changed += step.changed
            if step.is_over:
                break
            faster = time.monotonic() - start < REWEIGH_SECONDS / 2
            rows = min(max(rows * 2 if faster else rows // 2, REWEIGH_ROWS[0]), REWEIGH_ROWS[1])
    return changed


def vectors_merge() -> int:
    """Keep what vector searches read up to date: rotations and cells.

    Entries of large tenants whose searches do not use cells are moved into the HNSW index: row by row, or by a rebuild
    if there are very many. Returns how many.
    """
    if connection.in_atomic_block:
        return sum(_merge_some(tenant_id) for tenant_id in large_tenants(MERGE_FROM))
    rotations_refresh()
    cells_refresh()
    in_cells = tenants_in_cells()
    large = [tenant_id for tenant_id in large_tenants(MERGE_FROM) if tenant_id not in in_cells]
    moved = _merge(large)
    _calibrate(large, is_new=moved > BULK_FROM)
    return moved


def _merge(large: list[int]) -> int:
    """Row by row, or by a rebuild."""
    if large:
        tail, merged = tail_and_merged_count(large)
        if tail > max(BULK_FROM, BULK_SHARE * merged) or (merged and not hnsw_is_valid()):
            return _merge_at_once(large, tail=tail)
    return sum(_merge_some(tenant_id) for tenant_id in large)


def _calibrate(large: list[int], *, is_new: bool) -> None:
    """Time searches by a scan and by the index, where that was not done yet or the index is new."""
    for state in rotation_states():
        if state.tenant_id in large and (is_new or state.costs is None) and hnsw_is_valid():
            logger.info("searches of tenant %d by %s cost %s", state.tenant_id, state.model, costs_measure(state))


def _merge_some(tenant_id: int) -> int:
    moved = 0
    for _ in range(MAX_MERGE_BATCHES):
        with transaction.atomic():
            count = tail_merge(tenant_id=tenant_id, limit=MERGE_BATCH)
        moved += count
        if count < MERGE_BATCH:
            break
    return moved


def _merge_at_once(tenants: list[int], *, tail: int) -> int:
    """Drop the index, move the rows, build it. An interrupted run leaves no index, and the next one builds it."""
    with maintenance_try_lock() as alone:
        if not alone:
            return 0
        start, moved = time.monotonic(), 0
        hnsw_drop()
        batch = max(BULK_FROM, tail // BULK_BATCHES)
        for tenant_id in tenants:
            while True:
                with transaction.atomic():
                    count = tail_merge(tenant_id=tenant_id, limit=batch)
                moved += count
                entries_vacuum()
                if count < batch:
                    break
        tables_analyse()
        hnsw_create()
        logger.info("the vector index was built with %d new entries in %.0f s", moved, time.monotonic() - start)
        return moved


def _purge() -> int:
    with transaction.atomic():
        return entries_purge(age_seconds=PURGE_AGE_SECONDS, limit=PURGE_BATCH)
