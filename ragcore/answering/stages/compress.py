"""Less text of the same passages, as a stage of an answer (U9, V16)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragcore.answering.pipeline import AnswerTools, answer_stage
from ragcore.answering.types import AnswerState
from ragcore.compression.compress import compressed
from ragcore.compression.fitting import fitted


@answer_stage("compress")
@dataclass(frozen=True, slots=True, kw_only=True)
class Compress:
    """Shorten each passage to `ratio` of its tokens; then, where `overflow` is set, all together to `budget_tokens`.

    `method`: none, sentence_extraction, llm_compression or hybrid. `overflow`: "" (the context builder decides),
    truncate, top_k or summarise.
    """

    method: str = "none"
    ratio: float = 0.6
    overflow: str = ""
    budget_tokens: int = 3000

    async def __call__(self, state: AnswerState, tools: AnswerTools) -> AnswerState:
        if not state.passages or (self.method == "none" and not self.overflow):
            return state
        result = await compressed(state.passages, state.query, method=self.method, ratio=self.ratio, tools=tools)
        passages, stats = result.passages, dict(result.stats)
        if self.overflow:
            passages = await fitted(
                passages, state.query, budget_tokens=self.budget_tokens, strategy=self.overflow, tools=tools
            )
            stats["overflow"] = self.overflow
            stats["tokens_after"] = sum(tools.counter.count(ranked.passage.text) for ranked in passages)
            stats["ratio"] = round(stats["tokens_after"] / max(stats["tokens_before"], 1), 4)
        return replace(state, passages=passages).with_stats("compress", **stats)
