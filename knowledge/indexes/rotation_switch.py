"""Change the rotation of a tenant's coarse vectors, or their model, beside readers and writers (decision 018).

`switch_begin`, then `entries_rotate` until nothing is left, then `switch_end`. In between, searches compare each entry
with the question in the entry's own rotation, exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

from knowledge.indexes.binary_vectors import halfvecs_read
from knowledge.indexes.copy import vectors_copy
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.rotations import RotationState, coarse_vectors, state_of
from knowledge.indexes.statements import execute, fetch
from ragcore.ports import FloatArray

ALL_STATES = """
SELECT tenant_id, model, rotation, former, costs, is_behind FROM knowledge_tenantvectors
WHERE %(model)s IN ('', model) ORDER BY tenant_id, model
"""
BEGIN = """
UPDATE knowledge_tenantvectors
SET rotation = %(rotation)s, former = array_append(array_remove(former, %(rotation)s), rotation)
WHERE tenant_id = %(tenant)s AND model = %(model)s AND rotation <> %(rotation)s
"""
END = """
UPDATE knowledge_tenantvectors SET former = '{}', is_behind = false
WHERE tenant_id = %(tenant)s AND model = %(model)s
"""
BEHIND = """
SELECT e.id, halfvec_send(v.vector) FROM knowledge_indexentry e
JOIN knowledge_wholevector v ON v.entry_id = e.id AND v.embedding_model = %(model)s
WHERE e.tenant_id = %(tenant)s AND (e.rotation <> %(rotation)s OR e.embedding_model <> %(model)s) AND e.id > %(after)s
ORDER BY e.id LIMIT %(limit)s FOR UPDATE OF e SKIP LOCKED
"""
COUNT_BEHIND = """
SELECT count(*) FROM knowledge_indexentry
WHERE tenant_id = %(tenant)s AND (rotation <> %(rotation)s OR embedding_model <> %(model)s)
"""
SCRATCH = "CREATE TEMP TABLE rotated (id bigint PRIMARY KEY, coarse halfvec(384)) ON COMMIT DROP"
MOVE = """
UPDATE knowledge_indexentry e SET coarse = rotated.coarse, rotation = %(rotation)s, embedding_model = %(model)s
FROM rotated WHERE rotated.id = e.id
"""
SAMPLE = """
SELECT halfvec_send(vector) FROM knowledge_wholevector WHERE embedding_model = %(model)s AND entry_id IN (
    SELECT entry_id FROM knowledge_wholevector WHERE tenant_id = %(tenant)s AND embedding_model = %(model)s
    ORDER BY hashint8(entry_id) LIMIT %(limit)s
)
"""
LIVE = """
SELECT tenant_id, sum(entries) FROM knowledge_document
WHERE deleted IS NULL AND live_version_id IS NOT NULL GROUP BY tenant_id
"""


def rotation_states(*, model: str = "") -> list[RotationState]:
    """Of all tenants, and of one model or of all."""
    return [state_of(*row) for row in fetch(ALL_STATES, {"model": model})]


def live_entries() -> dict[int, int]:
    """Live entries by tenant, counted from its documents."""
    return {int(tenant): int(entries) for tenant, entries in fetch(LIVE, {})}


def vectors_sample(*, tenant_id: int, model: str, limit: int) -> FloatArray:
    """float32[n, 768] of up to `limit` entries, spread over all of them, the same ones each time."""
    rows = fetch(SAMPLE, {"tenant": tenant_id, "model": model, "limit": limit})
    return halfvecs_read([row[0] for row in rows])


def switch_begin(*, tenant_id: int, model: str, rotation: int) -> None:
    """From the commit on, new entries get this rotation and searches expect it beside the former ones.

    Waits for writers that have read the former one, whose entries are therefore there to be moved. Move no entry
    before searches that began earlier have ended.
    """
    execute(BEGIN, {"tenant": tenant_id, "model": model, "rotation": rotation})
    epoch_advance(tenant_id=tenant_id, sets=())  # searches look again; answers stay as good as they are


@dataclass(frozen=True, slots=True)
class Moved:
    """How many entries got the current rotation, and the id of the last one."""

    count: int
    last: int


def entries_rotate(state: RotationState, *, after: int, limit: int) -> Moved:
    """Give the next `limit` entries with ids above `after` the current rotation. Call in a transaction."""
    named = {"tenant": state.tenant_id, "model": state.model, "rotation": state.rotation}
    rows = fetch(BEHIND, {**named, "after": after, "limit": limit})
    if not rows:
        return Moved(0, after)
    ids = [int(row[0]) for row in rows]
    vectors = coarse_vectors(halfvecs_read([row[1] for row in rows]), rotation=state.rotation, model=state.model)
    execute(SCRATCH, {})
    vectors_copy("rotated", "coarse", ids=ids, vectors=vectors)
    execute(MOVE, named)
    execute("DROP TABLE rotated", {})
    return Moved(len(ids), ids[-1])


def switch_end(state: RotationState) -> bool:
    """Forget the former rotations, and other models, once no entry has them; False while some do.

    Call in a transaction.
    """
    named = {"tenant": state.tenant_id, "model": state.model, "rotation": state.rotation}
    if fetch(COUNT_BEHIND, named)[0][0]:
        return False
    execute(END, named)
    epoch_advance(tenant_id=state.tenant_id, sets=())
    return True
