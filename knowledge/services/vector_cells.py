"""Cells of large tenants' vectors: made, filled, measured, and made again when a corpus has grown."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from django.db import transaction

from knowledge import model_registry
from knowledge.indexes.calibration import cells_time
from knowledge.indexes.cell_switch import (
    VectorSet,
    divided_names,
    division_add,
    figures_store,
    former_drop,
    set_batches,
    set_count,
    set_sample,
    set_texts,
    unused_drop,
    vectors_divide,
    vectors_vacuum,
)
from knowledge.indexes.index_maintenance import tables_analyse
from knowledge.indexes.rotation_switch import live_entries, rotation_states
from knowledge.indexes.statements import maintenance_try_lock
from knowledge.indexes.vector_cells import (
    MEASURED_HITS,
    CellFigures,
    Division,
    NumberedCells,
    centres_of,
    divisions_of,
)
from knowledge.services.own_questions import sentence_of
from ragcore.embedding.cells import (
    PER_CELL,
    WIDER,
    CellTally,
    Divider,
    Nearest,
    cell_count,
    cells_fit,
    normalised,
    reach_measured,
)
from ragcore.errors import RagError
from ragcore.ports import FloatArray

logger = logging.getLogger(__name__)

FIT_FROM = 30_000  # live entries of a tenant: to compare fewer takes no longer than the rest of a search
FIT_AGAIN = 2  # times as many entries as at the fit: more cells are made
MEASURE_AGAIN = 1.5  # times as many entries as when figures were measured
SETTLE_SECONDS = 5.0  # searches that know of the former division only have ended by then
DIVIDE_BATCH = 20_000  # vectors a transaction; a vacuum after each frees the space for the next
READ_BATCH = 20_000
QUESTIONS = 120  # sentences of passages, with which cells are measured


def cells_refresh(*, settle_seconds: float | None = None) -> int:
    """Make, fill and measure cells where they are due; returns how many vectors moved.

    Searches go on as before until cells are measured. An interrupted run is continued by the next one. Call outside of
    transactions. Ends at once if another process does maintenance.
    """
    with maintenance_try_lock() as alone:
        if not alone:
            return 0
        entries, moved = live_entries(), 0
        live = live_sets()
        for vectors in live:
            moved += _refreshed(vectors, entries.get(vectors.tenant_id, 0), settle_seconds)
        _unused_dropped(live)
        return moved


def live_sets() -> list[VectorSet]:
    """The vectors that questions are compared with, of every tenant."""
    states = rotation_states(model=model_registry.live_model())
    return [VectorSet(tenant_id=state.tenant_id, name=state.model) for state in states]


def tenants_in_cells() -> set[int]:
    """Tenants whose searches use cells, and need no other index."""
    return {
        vectors.tenant_id
        for vectors in live_sets()
        if divisions_of(tenant_id=vectors.tenant_id, name=vectors.name).figures is not None
    }


def _refreshed(vectors: VectorSet, entries: int, settle_seconds: float | None) -> int:
    """One set of vectors; returns how many moved."""
    state = divisions_of(tenant_id=vectors.tenant_id, name=vectors.name)
    newest, is_moving = state.newest, len(state.divisions) > 1
    if newest is None and entries < FIT_FROM:
        return 0
    if newest is None or (newest.figures is not None and entries >= FIT_AGAIN * newest.passages):
        is_first = newest is None
        newest = _fitted(vectors)
        if not is_first:
            time.sleep(SETTLE_SECONDS if settle_seconds is None else settle_seconds)
    if newest.figures is not None and not is_moving and entries < MEASURE_AGAIN * newest.measured_passages:
        return 0
    moved = _divided(vectors, newest)
    _measured(vectors, newest, passages=entries)
    return moved


def _fitted(vectors: VectorSet) -> Division:
    """A new division; no vector is in it yet."""
    start = time.monotonic()
    total = set_count(vectors)
    count = cell_count(total)
    sample = set_sample(vectors, limit=PER_CELL * count)
    centres, projection = cells_fit(sample, count=count)
    tally = CellTally.of(centres)
    tally.add(sample, Divider.of(centres, projection).cells(sample))
    cells = tally.cells(scale=total / max(len(sample), 1))
    with transaction.atomic():
        number = division_add(vectors, cells, projection=projection, passages=total)
    logger.info(
        "%d cells of %d vectors %s of tenant %d were made in %.1f s",
        count,
        total,
        vectors.name,
        vectors.tenant_id,
        time.monotonic() - start,
    )
    return Division(number, total, None, 0)


def _divided(vectors: VectorSet, division: Division) -> int:
    """Move what is not in the division yet, a batch a transaction; forget the divisions before."""
    moved = after = 0
    while True:
        with transaction.atomic():
            batch = vectors_divide(vectors, division.id, after=after, limit=DIVIDE_BATCH)
        moved, after = moved + batch.count, batch.last
        if batch.count == DIVIDE_BATCH:
            vectors_vacuum()
        else:
            break
    if moved:
        vectors_vacuum()
        tables_analyse()
    with transaction.atomic():
        former_drop(vectors, newest=division.id)
    return moved


def _measured(vectors: VectorSet, division: Division, *, passages: int) -> None:
    """Find how far searches must look, and what that takes; from then on they do."""
    start = time.monotonic()
    questions = _questions(vectors)
    if not len(questions):
        return
    nearest = Nearest.of(len(questions), limit=WIDER * MEASURED_HITS)
    tally = CellTally.of(centres_of(division.id))
    for cells, batch in set_batches(vectors, division.id, size=READ_BATCH):
        tally.add(batch, cells)
        nearest.add(questions @ batch.T, cells)
    counted = tally.cells()
    reach = reach_measured(counted, questions, nearest, depth=MEASURED_HITS)
    times = cells_time(vectors, NumberedCells.of(division.id, counted), questions, reach)
    figures = CellFigures(
        reach=reach.reach, contained=reach.contained, rows=reach.rows, wider=reach.wider, **asdict(times)
    )
    with transaction.atomic():
        figures_store(vectors, division.id, cells=counted, figures=figures, passages=passages)
    logger.info(
        "cells of vectors %s of tenant %d: %s, measured in %.1f s",
        vectors.name,
        vectors.tenant_id,
        figures,
        time.monotonic() - start,
    )


def _questions(vectors: VectorSet) -> FloatArray:
    """float32[n, 768], normalised: sentences of passages; none where they cannot be embedded now."""
    try:
        return _sentences_embedded(vectors)
    except RagError as error:
        logger.warning("cells are not measured, because sentences cannot be embedded: %s", error)
        return np.zeros((0, 768), np.float32)


def _sentences_embedded(vectors: VectorSet) -> FloatArray:
    bodies = set_texts(vectors, limit=2 * QUESTIONS)
    texts = [text for text in map(sentence_of, bodies) if text][:QUESTIONS]
    if not texts:
        return np.zeros((0, 768), np.float32)
    return normalised(model_registry.embedder().embed_queries(texts))


def _unused_dropped(live: Sequence[VectorSet]) -> None:
    """Forget the cells of vectors that are gone, as those of a former model."""
    needed = {(vectors.tenant_id, vectors.name) for vectors in live}
    for tenant_id, name in divided_names():
        if (tenant_id, name) not in needed:
            with transaction.atomic():
                unused_drop(VectorSet(tenant_id=tenant_id, name=name))
