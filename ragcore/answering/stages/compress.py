"""Less text of the same passages, as a stage of an answer (U9, V16)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragcore.answering.pipeline import answer_stage
from ragcore.compression.compress import compress_passages
from ragcore.compression.fitting import fit_passages
from ragcore.grounding.context import header_tokens
from ragcore.labels import gettext_noop as _
from ragcore.stage_ports import StagePorts
from ragcore.types.answering import AnswerState, Ranked


@answer_stage("compress", label=_("compression"))
@dataclass(frozen=True, slots=True, kw_only=True)
class Compress:
    """Shorten each passage to `ratio` of its tokens; then, where `overflow` is set, all together to `budget_tokens`.

    Headers count in this budget, so that all that is left here stands in the context.

    `method`: none, sentence_extraction, llm_compression or hybrid. `overflow`: "" (the context builder decides),
    truncate, top_k or summarise. What was shortened is kept in `ports.compressed` for later iterations.
    """

    method: str = "none"
    ratio: float = 0.6
    overflow: str = ""
    budget_tokens: int = 3000
    most: int | None = None  # passages, the best ones; those behind them never come into the context

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        if not state.passages or (self.method == "none" and not self.overflow):
            return state
        best = sorted(state.passages, key=lambda ranked: ranked.score, reverse=True)[: self.most]
        passages, stats = await self._shortened(best, state.query, ports)
        if self.overflow:
            passages = await fit_passages(
                passages,
                state.query,
                budget_tokens=self.budget_tokens,
                strategy=self.overflow,
                ports=ports,
                overhead=lambda passage: header_tokens(passage, ports.counter),
            )
            stats["overflow"] = self.overflow
            stats["tokens_after"] = sum(ports.counter.count(ranked.passage.text) for ranked in passages)
            stats["ratio"] = round(stats["tokens_after"] / max(stats["tokens_before"], 1), 4)
        return replace(state, passages=passages).with_stats("compress", **stats)

    async def _shortened(
        self, passages: Sequence[Ranked], query: str, ports: StagePorts
    ) -> tuple[tuple[Ranked, ...], dict[str, Any]]:
        """The passages with less text; what a round before has shortened for the same question is taken from there."""
        kept = ports.compressed
        keys = [(query, self.method, self.ratio, ranked.passage.chunk, ranked.passage.text) for ranked in passages]
        new = [ranked for key, ranked in zip(keys, passages, strict=True) if key not in kept]
        result = await compress_passages(new, query, method=self.method, ratio=self.ratio, ports=ports)
        made = dict(zip((key for key in keys if key not in kept), result.passages, strict=True))
        kept.update(made)
        shorter = tuple(replace(ranked, passage=kept[key].passage) for key, ranked in zip(keys, passages, strict=True))
        before = sum(ports.counter.count(ranked.passage.text) for ranked in passages)
        after = sum(ports.counter.count(ranked.passage.text) for ranked in shorter)
        figures = {"tokens_before": before, "tokens_after": after, "ratio": round(after / before, 4) if before else 1.0}
        return shorter, {**result.stats, **figures, "reused": len(passages) - len(new)}
