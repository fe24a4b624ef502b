"""What people did with passages for similar questions moves these, within a bound."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports
from ragcore.retrieval.pipeline import stage
from ragcore.retrieval.stages.rerank import is_on_scale
from ragcore.types import Candidate, ScoreScale, State, UseHint


@stage("weigh.use", label=_("use"), optional=True, ranking="use")
@dataclass(frozen=True, slots=True, kw_only=True)
class WeighUse:
    """Order by the last score, moved by what use says of a passage (-1 to 1) times `most`.

    On a reranker's scale `most` is a share of the gap that it calls a cliff, elsewhere a share of the score. So no
    passage overtakes one that stands more than twice that above it. Candidates come and go by nothing here. The detail
    of a moved candidate has its value, the shift, its place before, and what people did.
    """

    most: float = 0.3

    def __call__(self, state: State, ports: Ports) -> State:
        if ports.use is None or not state.candidates:
            return state
        by_chunk: dict[int, list[UseHint]] = defaultdict(list)
        for hint in ports.use.hints(state.query, [c.chunk for c in state.candidates]):
            by_chunk[hint.chunk].append(hint)
        scores: dict[int, float] = {}
        explained: list[Candidate] = []
        for place, candidate in enumerate(state.candidates, 1):
            score = candidate.last_score
            value = value_of(by_chunk.get(candidate.chunk, ()))
            shift = self.most * value * _unit(candidate, score, state.scale)
            scores[candidate.chunk] = score + shift
            if shift:
                candidate = candidate.explained("use", _told(by_chunk[candidate.chunk], value, shift, place))
            explained.append(candidate)
        moved = sum("use" in c.detail for c in explained)
        state = replace(state, candidates=tuple(explained))
        return state.ranked("weigh.use", scores, keep=len(explained), note={"moved": moved, "most": self.most})


def value_of(hints: Sequence[UseHint]) -> float:
    """-1 to 1: the mean value, the nearer question counting more, as far as the nearest one is near."""
    total = sum(hint.nearness for hint in hints)
    if total <= 0:
        return 0.0
    mean = sum(hint.value * hint.nearness for hint in hints) / total
    return mean * max(hint.nearness for hint in hints)


def _unit(candidate: Candidate, score: float, scale: ScoreScale | None) -> float:
    return scale.cliff if scale is not None and is_on_scale(candidate) else abs(score)


def _told(hints: Sequence[UseHint], value: float, shift: float, place: int) -> dict[str, Any]:
    """Plain values; the acts are those of the nearest kind of question."""
    nearest = max(hints, key=lambda hint: hint.nearness)
    acts = {name: getattr(nearest, name) for name in ("people", "shown", "opened", "helpful", "unhelpful")}
    return {"value": round(value, 3), "shift": round(shift, 4), "place": place, **acts}
