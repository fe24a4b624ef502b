"""The numbered sources of an answer (V4)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragcore.answering.pipeline import AnswerTools, answer_stage
from ragcore.answering.types import AnswerState
from ragcore.grounding.context import build_context
from ragcore.labels import gettext_noop as _


@answer_stage("context.build", label=_("numbered sources"), optional=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class BuildContext:
    """Of the best passages those that fit into the budget, numbered."""

    max_chunks: int = 10
    budget_tokens: int = 3000

    async def __call__(self, state: AnswerState, tools: AnswerTools) -> AnswerState:
        best = sorted(state.passages, key=lambda ranked: ranked.score, reverse=True)[: self.max_chunks]
        pairs = [(ranked.passage, ranked.score) for ranked in best]
        sources = build_context(pairs, budget_tokens=self.budget_tokens, counter=tools.counter)
        return replace(state, sources=tuple(sources))
