"""Stage 2, first half: exact 768-d similarity of the coarse candidates (feature D4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ragcore.labels import gettext_noop as _
from ragcore.ports import FloatArray, Ports
from ragcore.retrieval.pipeline import stage
from ragcore.types import Hit, State

HALVED_FROM = 1000  # candidates, from which two halves are compared at the same time


@stage("search.fine", label=_("second stage"), timing="fine")
@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFine:
    """Add the arm "dense": the best `limit` candidates by cosine of the whole vector. Drops nothing."""

    limit: int = 160

    def __call__(self, state: State, ports: Ports) -> State:
        if state.query.vector is None or not state.pool:
            return state.with_arm("dense", [])
        hits = self._hits(state.query.vector, state.ids(), ports)
        return state.with_arm("dense", hits).noted(dense=len(hits), **ports.backend_note)

    def _hits(self, vector: FloatArray, chunks: list[int], ports: Ports) -> list[Hit]:
        look = partial(ports.vectors.fine, vector, limit=self.limit)
        if len(chunks) < HALVED_FROM:
            return look(chunks=chunks)
        halves = ports.together(partial(look, chunks=chunks[::2]), partial(look, chunks=chunks[1::2]))
        return sorted((hit for half in halves for hit in half), key=lambda hit: (-hit.score, hit.chunk))[: self.limit]
