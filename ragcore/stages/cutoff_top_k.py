"""The end of a ranking."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragcore.pipeline import stage
from ragcore.ports import Ports
from ragcore.types import Drop, State


@stage("cutoff.top_k")
@dataclass(frozen=True, slots=True, kw_only=True)
class CutoffTopK:
    """Keep the first `keep` candidates in their present order."""

    keep: int = 10

    def __call__(self, state: State, ports: Ports) -> State:
        dropped = tuple(
            Drop(chunk=c.chunk, stage="cutoff.top_k", reason=f"below the best {self.keep}")
            for c in state.candidates[self.keep :]
        )
        return replace(state, candidates=state.candidates[: self.keep], drops=(*state.drops, *dropped))
