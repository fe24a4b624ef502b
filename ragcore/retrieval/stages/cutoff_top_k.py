"""The end of a ranking."""

from __future__ import annotations

from dataclasses import dataclass

from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports
from ragcore.retrieval.pipeline import stage
from ragcore.types import State


@stage("cutoff.top_k", label=_("cut-off"))
@dataclass(frozen=True, slots=True, kw_only=True)
class CutoffTopK:
    """Keep the first `keep` candidates in their present order."""

    keep: int = 10

    def __call__(self, state: State, ports: Ports) -> State:
        best = state.candidates[: self.keep]
        return state.narrowed(best, stage="cutoff.top_k", reason=f"below the best {self.keep}")
