"""What a vector search costs on this machine: an exact scan and the HNSW index, both timed on the tenant's own entries.

Maintenance measures after it has built the index; the choice of the access path (`vector_plan`) uses the figures. They
are times by the clock: whatever else the machine does slows both ways alike.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from statistics import median

from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.index_maintenance import tail_and_merged_count
from knowledge.indexes.rotation_switch import vectors_sample
from knowledge.indexes.rotations import RotationState, rotated_params, vector_text
from knowledge.indexes.search_space import VectorCosts
from knowledge.indexes.statements import execute, fetch
from knowledge.indexes.vectors import NEAR_IN_INDEX, NEAR_IN_SCAN, hnsw_scan_settings
from ragcore.ports import FloatArray

QUESTIONS = 7  # vectors of entries that are asked for; each way is timed twice, of which the second time counts
DEPTHS = (300, 1000)  # hits from the index: two depths give what a search and what a hit costs
LEAST_NEAR = 1e-4  # milliseconds of a hit, where noise hides it

STORE = """
UPDATE knowledge_tenantvectors SET costs = %(costs)s::float8[] WHERE tenant_id = %(tenant)s AND model = %(model)s
"""


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
