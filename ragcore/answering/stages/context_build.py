"""The numbered sources of an answer (V4)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragcore.answering.pipeline import answer_stage
from ragcore.grounding.context import build_context
from ragcore.labels import gettext_noop as _
from ragcore.stage_ports import StagePorts
from ragcore.types.answering import AnswerState


@answer_stage("context.build", label=_("numbered sources"), optional=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class BuildContext:
    """Of the best passages those that fit into the budget, numbered."""

    max_chunks: int = 10
    budget_tokens: int = 3000

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        best = sorted(state.passages, key=lambda ranked: ranked.score, reverse=True)[: self.max_chunks]
        pairs = [(ranked.passage, ranked.score) for ranked in best]
        sources = build_context(pairs, budget_tokens=self.budget_tokens, counter=ports.counter)
        return replace(state, sources=tuple(sources))
