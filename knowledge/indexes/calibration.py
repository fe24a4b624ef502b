"""What a vector search costs on this machine: exact scans, cells and the HNSW index, timed on the tenant's own entries.

Maintenance measures after it has divided the vectors or built the index; the choice of the access path (`vector_plan`)
uses the figures. They are times by the clock: whatever else the machine does slows all ways alike.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from statistics import median

from knowledge.indexes.cell_search import NEAR_IN_CELLS
from knowledge.indexes.cell_switch import VectorSet
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.index_maintenance import tail_and_merged_count
from knowledge.indexes.rotation_switch import vectors_sample
from knowledge.indexes.rotations import RotationState, rotated_params, vector_text
from knowledge.indexes.search_space import VectorCosts
from knowledge.indexes.statements import execute, fetch, ids_text
from knowledge.indexes.vector_cells import NumberedCells
from knowledge.indexes.vectors import NEAR_IN_INDEX, NEAR_IN_SCAN, hnsw_scan_settings
from ragcore.embedding.cells import CellReach
from ragcore.ports import FloatArray

QUESTIONS = 7  # vectors of entries that are asked for; each way is timed twice, of which the second time counts
DEPTHS = (300, 1000)  # hits from the index: two depths give what a search and what a hit costs
LEAST_NEAR = 1e-4  # milliseconds of a hit, where noise hides it

STORE = """
UPDATE knowledge_tenantvectors SET costs = %(costs)s::float8[] WHERE tenant_id = %(tenant)s AND model = %(model)s
"""

PARTS = (0.25, 1.0)  # of what a search compares: two sizes give what a search and what a vector costs
LEAST_ROW = 1e-5  # milliseconds of a vector, where noise hides it


def costs_measure(state: RotationState) -> VectorCosts | None:
    """Time both ways and store the figures; None where there is nothing to time. Reads all entries a few times."""
    tail, merged = tail_and_merged_count([state.tenant_id])
    questions = vectors_sample(tenant_id=state.tenant_id, model=state.model, limit=QUESTIONS)
    if not merged or not len(questions) or state.former:
        return None
    scan = _milliseconds(NEAR_IN_SCAN, state, questions, depth=DEPTHS[0])
    few, many = (_milliseconds(NEAR_IN_INDEX, state, questions, depth=depth) for depth in DEPTHS)
    scanned = scan / (tail + merged)
    near = max((many - few) / (DEPTHS[1] - DEPTHS[0]), LEAST_NEAR)
    costs = VectorCosts(scanned=scanned, near_start=max(few - near * DEPTHS[0] - scanned * tail, 0.0), near=near)
    stored = [costs.scanned, costs.near_start, costs.near]
    execute(STORE, {"costs": stored, "tenant": state.tenant_id, "model": state.model})
    # processes remember the figures as long as the corpus is the same
    epoch_advance(tenant_id=state.tenant_id, sets=())
    return costs


def _milliseconds(sql: str, state: RotationState, questions: FloatArray, *, depth: int) -> float:
    """Median by the clock of one search."""
    seconds = []
    for vector in questions:
        is_index = sql == NEAR_IN_INDEX
        asked = rotated_params(vector, state) if is_index else {"vector": vector_text(vector)}
        named = {"tenant": state.tenant_id, "model": state.model, "fetched": depth, **asked}
        with hnsw_scan_settings(depth) if is_index else nullcontext():
            fetch(sql, named)
            start = time.perf_counter()
            fetch(sql, named)
            seconds.append(time.perf_counter() - start)
    return 1000 * median(seconds)


# ── cells ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTimes:
    """Milliseconds of a search in cells, and of a scan at the same time."""

    scanned: float  # compare one vector in a scan of all
    start: float  # begin with cells
    row: float  # compare one vector of a cell


def cells_time(vectors: VectorSet, cells: NumberedCells, questions: FloatArray, found: CellReach) -> CellTimes:
    """Time searches in the cells that they would look into, and scans, both with the first of these questions."""
    asked = questions[:QUESTIONS]
    total = int(cells.cells.sizes.sum())
    scan = median(_scan_ms(vectors, question) for question in asked)
    few, many = (_cells_ms(vectors, cells, asked, found.reach, rows=part * found.rows) for part in PARTS)
    row = max((many.milliseconds - few.milliseconds) / max(many.compared - few.compared, 1.0), LEAST_ROW)
    start = max(few.milliseconds - row * few.compared, 0.0)
    return CellTimes(scanned=scan / max(total, 1), start=start, row=row)


@dataclass(frozen=True, slots=True)
class _Looks:
    """Medians of some searches in cells."""

    milliseconds: float
    compared: float


def _cells_ms(vectors: VectorSet, cells: NumberedCells, questions: FloatArray, reach: float, *, rows: float) -> _Looks:
    seconds, compared = [], []
    for question in questions:
        one = cells.bounded(question, reach=reach)
        places = one.first(rows)
        named = {"cells": ids_text(one.numbers[places].tolist()), **_named(vectors, question)}
        seconds.append(_warm_ms(NEAR_IN_CELLS, named))
        compared.append(one.compared(places))
    return _Looks(median(seconds), median(compared))


def _scan_ms(vectors: VectorSet, question: FloatArray) -> float:
    return _warm_ms(NEAR_IN_SCAN, _named(vectors, question))


def _named(vectors: VectorSet, question: FloatArray) -> dict[str, object]:
    return {
        "tenant": vectors.tenant_id,
        "model": vectors.name,
        "vector": vector_text(question),
        "fetched": DEPTHS[0],
    }


def _warm_ms(sql: str, named: dict[str, object]) -> float:
    """By the clock, the second time."""
    fetch(sql, named)
    start = time.perf_counter()
    fetch(sql, named)
    return 1000 * (time.perf_counter() - start)
