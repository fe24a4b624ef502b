"""Which rotations the coarse vectors of a tenant were made with (decision 018).

An entry's `coarse` is the first 384 numbers of its rotated vector; `fine` is never rotated, so 768-d scores do not
depend on any of this. A rotation has a number: 0 is none, −n the n-th one that comes with the embedder. Each tenant and
model has a state: the number that new entries get, and the former ones that entries may still have. A search compares
each entry with the question rotated alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knowledge.indexes.corpus_epoch import EpochCache
from knowledge.indexes.search_space import VectorCosts
from knowledge.indexes.statements import execute, fetch
from ragcore.embedding.rotation import packaged_number, packaged_projection, project
from ragcore.ports import FloatArray

STATE = """
SELECT rotation, former, costs, is_behind FROM knowledge_tenantvectors
WHERE tenant_id = %(tenant)s AND model = %(model)s
"""
ADD_STATE = """
INSERT INTO knowledge_tenantvectors (tenant_id, model, rotation, former, costs)
VALUES (%(tenant)s, %(model)s, %(rotation)s, '{}', '{}')
ON CONFLICT (tenant_id, model) DO NOTHING
"""

states: EpochCache[RotationState] = EpochCache()
QUESTION = "%(vector)s::halfvec"


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationState:
    """What the entries of one tenant and model have: new ones `rotation`, others that or one of `former`."""

    tenant_id: int
    model: str
    rotation: int
    former: tuple[int, ...] = ()
    costs: VectorCosts | None = None  # None: not measured here yet
    is_behind: bool = False  # some entries' coarse vectors are of another model: they are not compared

    @property
    def in_use(self) -> tuple[int, ...]:
        return (self.rotation, *self.former)


# ── for searches and for writers ──────────────────────────────────────────────────────────────────


def rotation_state(*, tenant_id: int, model: str, epoch: int) -> RotationState:
    """The state of this corpus epoch: whoever changes a state advances the epoch."""
    return states.get((tenant_id, model), epoch=epoch, make=lambda: _state(tenant_id, model))


def rotation_for_new(*, tenant_id: int, model: str) -> int:
    """The rotation of new entries; it does not change before the running transaction ends."""
    params = {"tenant": tenant_id, "model": model}
    while not (found := fetch(f"{STATE} FOR SHARE", params)):
        execute(ADD_STATE, {**params, "rotation": packaged_number(model)})
    return int(found[0][0])


def coarse_vectors(vectors: FloatArray, *, rotation: int, model: str) -> FloatArray:
    """float32[n, 384] of float32[n, 768]: what is stored and asked with this rotation."""
    return project(vectors, _projection(rotation, model))


def _state(tenant_id: int, model: str) -> RotationState:
    found = fetch(STATE, {"tenant": tenant_id, "model": model})
    return state_of(tenant_id, model, *(found[0] if found else (packaged_number(model), (), (), False)))


def state_of(
    tenant_id: int,
    model: str,
    rotation: int,
    former: Sequence[int],
    costs: Sequence[float],
    is_behind: bool,
) -> RotationState:
    """A row of the table."""
    measured = VectorCosts(scanned=costs[0], near_start=costs[1], near=costs[2]) if costs else None
    return RotationState(
        tenant_id=tenant_id,
        model=model,
        rotation=rotation,
        former=tuple(former),
        costs=measured,
        is_behind=is_behind,
    )


def _projection(rotation: int, model: str) -> FloatArray | None:
    """The first 384 columns of a rotation; None for the numbers as they are."""
    return packaged_projection(model, -rotation) if rotation else None


# ── SQL of a question ─────────────────────────────────────────────────────────────────────────────


def vector_text(vector: FloatArray) -> str:
    """The text form of a halfvec."""
    return f"[{','.join(['%.5g'] * len(vector))}]" % tuple(vector.tolist())  # one call, not one for each number


def rotated_sql(sql: str, state: RotationState) -> str:
    """A search by `vector`, in which each entry meets the question of its own rotation: `vector`, or `vector1`, …"""
    if not state.former:
        return sql
    former = " ".join(
        f"WHEN {number} THEN %(vector{place})s::halfvec" for place, number in enumerate(state.former, start=1)
    )
    return sql.replace(QUESTION, f"(CASE e.rotation {former} ELSE {QUESTION} END)")


def rotated_params(vector: FloatArray, state: RotationState) -> Mapping[str, str]:
    """The parameters of `rotated_sql` for a question, float32[768] or more, of which the first 768 count."""
    names = ["vector", *(f"vector{place}" for place in range(1, len(state.in_use)))]
    return {
        name: vector_text(coarse_vectors(vector[None, :], rotation=number, model=state.model)[0])
        for name, number in zip(names, state.in_use, strict=True)
    }
