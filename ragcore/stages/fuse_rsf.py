"""Relative score fusion (feature D4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from math import exp

from ragcore.pipeline import stage
from ragcore.ports import Ports
from ragcore.types import State


@stage("fuse.rsf")
@dataclass(frozen=True, slots=True, kw_only=True)
class FuseRsf:
    """Merge the dense and lexical rankings into state.candidates, best first.

    Score in [0, 1]: alpha * dense + (1 - alpha) * lexical, each ranking scaled by its own best hit and its
    theoretical minimum (0), so that a lone bad hit does not become 1. alpha grows with the query:
    0.4 + 0.3 / (1 + exp(-(words - centre) / slope)), unless `vector_weight` fixes it, and never exceeds
    how far the embedder can be trusted with the script of the query.
    """

    centre: float = 8.0  # query words at which alpha is 0.55
    slope: float = 1.0
    vector_weight: float = -1.0  # in [0, 1]: instead of the formula; negative: the formula
    each: int = 160  # hits of each arm that take part
    keep: int = 80

    def __call__(self, state: State, ports: Ports) -> State:
        wanted = self.alpha(state.query.token_count)
        trust = ports.embedder.trust(state.query.cjk_share)
        alpha = min(wanted, trust)
        dense, lexical = (scaled(state.arms.get(arm, {}), self.each) for arm in ("dense", "lexical"))
        fused = {
            chunk: alpha * dense.get(chunk, 0.0) + (1 - alpha) * lexical.get(chunk, 0.0)
            for chunk in dict.fromkeys([*lexical, *dense])
        }
        return state.ranked(
            "fuse.rsf",
            fused,
            keep=self.keep,
            note={"alpha": round(alpha, 4), "formula": round(wanted, 4), "trust": trust},
        )

    def alpha(self, words: int) -> float:
        """The weight of the dense arm before the cap."""
        if self.vector_weight >= 0:
            return self.vector_weight
        return 0.4 + 0.3 / (1 + exp(-(words - self.centre) / self.slope))


def scaled(arm: Mapping[int, float], limit: int) -> dict[int, float]:
    """The first `limit` scores divided by the best one, negative ones as 0; empty if the best is not above 0."""
    first = dict(islice(arm.items(), limit))
    best = max(first.values(), default=0.0)
    return {chunk: max(score, 0.0) / best for chunk, score in first.items()} if best > 0 else {}
