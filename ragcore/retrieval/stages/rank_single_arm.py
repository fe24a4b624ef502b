"""Ranking by one arm alone: the modes `vector` and `bm25` (feature V3)."""

from __future__ import annotations

from dataclasses import dataclass

from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports
from ragcore.retrieval.pipeline import stage
from ragcore.types import State


@stage("rank.single_arm", label=_("single ranking"), timing="fine")
@dataclass(frozen=True, slots=True, kw_only=True)
class RankSingleArm:
    """Order by the raw score of `arm` ("lexical": BM25, "dense": cosine); candidates outside it are dropped."""

    arm: str
    keep: int = 80

    def __call__(self, state: State, ports: Ports) -> State:
        return state.ranked("rank.single_arm", state.arms.get(self.arm, {}), keep=self.keep, note={"arm": self.arm})
