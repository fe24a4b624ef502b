"""Dropping what stands below a cliff in the scores (feature D5)."""

from __future__ import annotations

from dataclasses import dataclass

from ragcore.pipeline import stage
from ragcore.ports import Ports
from ragcore.types import State


@stage("cutoff.cliff")
@dataclass(frozen=True, slots=True, kw_only=True)
class CutoffCliff:
    """Cut after the first gap between neighbours that exceeds the reranker's declared cliff.

    Only where what follows is low in absolute terms, too: below the middle of the best and the worst score.
    Without reranker scores nothing is cut.
    """

    keep_at_least: int = 1

    def __call__(self, state: State, ports: Ports) -> State:
        scores = [c.scores.get("rerank") for c in state.candidates]
        if ports.reranker is None or len(scores) < 2 or any(s is None for s in scores):
            return state
        known = [s for s in scores if s is not None]
        low = (known[0] + known[-1]) / 2
        for place in range(max(self.keep_at_least, 1), len(known)):
            if known[place - 1] - known[place] > ports.reranker.cliff and known[place] < low:
                best = state.candidates[:place]
                return state.narrowed(best, stage="cutoff.cliff", reason="below the cliff").noted(cut_after=place)
        return state
