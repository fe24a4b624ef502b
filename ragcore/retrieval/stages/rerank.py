"""Stage 3: a closer look at few candidates (feature D5)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from ragcore.errors import RagError, RerankerRefusedError
from ragcore.labels import gettext_noop as _
from ragcore.ports import AbsoluteScores, Ports, Reranker, RerankInput, RerankScore
from ragcore.retrieval.pipeline import stage
from ragcore.types import Query, ScoreScale, State

logger = logging.getLogger(__name__)


@stage("rerank", label=_("reranking"), optional=True, timing="rerank", ranking="rerank")
@dataclass(frozen=True, slots=True, kw_only=True)
class Rerank:
    """Order by the score of the reranker (its own scale, higher is better). Drops nothing.

    Skipped where no reranker is configured. Where it fails, the second one orders and the record names both;
    without a second one the order stays and the record has the error.
    """

    def __call__(self, state: State, ports: Ports) -> State:
        loaded = [c for c in state.candidates if c.passage is not None]
        if ports.reranker is None or not loaded:
            return state
        inputs = [RerankInput(passage=c.passage, arms=c.scores) for c in loaded if c.passage is not None]
        reranker, scores, note = _scored(ports.reranker, ports.second_reranker, state.query, inputs)
        detailed = tuple(
            replace(c, detail={**c.detail, "rerank": dict(s.detail)}) for c, s in zip(loaded, scores, strict=True)
        )
        by_chunk = {c.chunk: s.score for c, s in zip(loaded, scores, strict=True)}
        state = replace(state, candidates=detailed, scale=scale_of(reranker))
        return state.ranked("rerank", by_chunk, keep=len(detailed), note={"reranker": reranker.name, **note})


def scale_of(reranker: Reranker) -> ScoreScale:
    """What its scores mean."""
    return ScoreScale(cliff=reranker.cliff, low=reranker.low if isinstance(reranker, AbsoluteScores) else None)


def _scored(
    first: Reranker, second: Reranker | None, query: Query, inputs: Sequence[RerankInput]
) -> tuple[Reranker, list[RerankScore], Mapping[str, Any]]:
    """Who scored, the scores, and what to note about it."""
    try:
        return first, _finite(first, query, inputs), {}
    except Exception as problem:
        if second is None:
            raise
        logger.warning("%s orders instead of %s: %s", second.name, first.name, problem)
        error = problem.code if isinstance(problem, RagError) else type(problem).__name__
        return second, _finite(second, query, inputs), {"instead_of": first.name, "error": error}


def _finite(reranker: Reranker, query: Query, inputs: Sequence[RerankInput]) -> list[RerankScore]:
    scores = reranker.score(query, inputs)
    if len(scores) != len(inputs) or not all(isfinite(s.score) for s in scores):
        raise RerankerRefusedError("scores_missing", name=reranker.name)
    return scores
