"""Stage 2, first half: exact 768-d similarity of the coarse candidates (feature D4)."""

from __future__ import annotations

from dataclasses import dataclass

from ragcore.pipeline import stage
from ragcore.ports import Ports
from ragcore.types import State


@stage("search.fine")
@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFine:
    """Add the arm "dense": the best `limit` candidates by cosine of the whole vector. Drops nothing."""

    limit: int = 160

    def __call__(self, state: State, ports: Ports) -> State:
        if state.query.vector is None or not state.pool:
            return state.with_arm("dense", [])
        hits = ports.vectors.fine(state.query.vector, chunks=state.ids(), limit=self.limit)
        return state.with_arm("dense", hits).noted(dense=len(hits), **ports.extra.get("backend", {}))
