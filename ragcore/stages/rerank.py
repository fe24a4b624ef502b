"""Stage 3: a closer look at few candidates (feature D5)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragcore.pipeline import stage
from ragcore.ports import Ports, RerankInput
from ragcore.types import State


@stage("rerank", optional=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class Rerank:
    """Order by the score of the reranker (its own scale, higher is better). Drops nothing.

    Skipped where no reranker is configured; where it fails, the order stays and the record says so.
    """

    def __call__(self, state: State, ports: Ports) -> State:
        loaded = [c for c in state.candidates if c.passage is not None]
        if ports.reranker is None or not loaded:
            return state
        inputs = [RerankInput(passage=c.passage, arms=c.scores) for c in loaded if c.passage is not None]
        scores = ports.reranker.score(state.query, inputs)
        detailed = tuple(
            replace(c, detail={**c.detail, "rerank": dict(s.detail)}) for c, s in zip(loaded, scores, strict=True)
        )
        by_chunk = {c.chunk: s.score for c, s in zip(loaded, scores, strict=True)}
        state = replace(state, candidates=detailed)
        return state.ranked("rerank", by_chunk, keep=len(detailed), note={"reranker": ports.reranker.name})
