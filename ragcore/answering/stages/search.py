"""Searching, as a stage of an answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragcore.answering.pipeline import answer_stage
from ragcore.labels import gettext_noop as _
from ragcore.stage_ports import StagePorts
from ragcore.types.answering import AnswerState


@answer_stage("search", label=_("search"), optional=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPassages:
    """Passages for the question in all its forms. Raises what the search raises."""

    top_k: int | None = None  # None: what the search was bound to

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        result = await ports.search(state.query, state.rewrites, top_k=self.top_k)
        return replace(state, result=result, passages=result.ranked)
