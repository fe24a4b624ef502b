"""Dropping what stands below a cliff in the scores (feature D5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports
from ragcore.retrieval.pipeline import stage
from ragcore.types import State


@stage("cutoff.cliff", label=_("score gap"), drop_reason=_("below a score gap"))
@dataclass(frozen=True, slots=True, kw_only=True)
class CutoffCliff:
    """Sorted by the reranker's score, drop everything after the first gap that is a cliff.

    A gap between neighbours is a cliff if it exceeds what the reranker declares (0.8 on the logits of cross-encoders)
    and what follows is low in absolute terms: below the reranker's `low` or, where only differences between its
    scores mean anything, below the middle of the best and the worst one. The present order stays. Without scores of a
    reranker nothing is cut. Noted: how many stay, the gap, the score behind it, and the scale.
    """

    keep_at_least: int = 1

    def __call__(self, state: State, ports: Ports) -> State:
        scores = [c.scores["rerank"] for c in state.candidates if "rerank" in c.scores]
        if state.scale is None or len(scores) < 2 or len(scores) != len(state.candidates):
            return state
        ordered = sorted(scores, reverse=True)
        low = (ordered[0] + ordered[-1]) / 2 if state.scale.low is None else state.scale.low
        place = cliff(ordered, gap=state.scale.cliff, low=low, keep_at_least=self.keep_at_least)
        limits = {"cliff": state.scale.cliff, "low": round(low, 4)}
        if place is None:
            widest = max(above - below for above, below in pairwise(ordered))
            return state.noted(cut_after=None, gap=round(widest, 4), **limits)
        kept = [c for c in state.candidates if c.scores["rerank"] >= ordered[place - 1]]
        gap, below = round(ordered[place - 1] - ordered[place], 4), round(ordered[place], 4)
        narrowed = state.narrowed(kept, stage="cutoff.cliff", reason="below the cliff")
        return narrowed.noted(cut_after=place, gap=gap, below=below, **limits)


def cliff(ordered: Sequence[float], *, gap: float, low: float, keep_at_least: int = 1) -> int | None:
    """How many of these scores, highest first, stand above the first cliff; None if there is none."""
    for place in range(max(keep_at_least, 1), len(ordered)):
        if ordered[place - 1] - ordered[place] > gap and ordered[place] < low:
            return place
    return None
