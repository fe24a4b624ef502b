"""From the search to the numbered sources, each a stage of an answer.

Search, whole sections instead of fragments, less text of the same passages, numbering.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragcore.answering.pipeline import answer_stage
from ragcore.compression.compress import compress_passages, fit_passages
from ragcore.grounding.context import build_context, header_tokens, render_context
from ragcore.labels import gettext_noop as _
from ragcore.ports import TokenCounter
from ragcore.stage_ports import StagePorts
from ragcore.text.difficulty import difficulty_rank
from ragcore.text.markdown import join_passages
from ragcore.types import Passage, Source
from ragcore.types.answering import AnswerState, Ranked

GRAPH_SHARE = 0.2  # of the places of a context for passages of the graph of entities, at most
Section = tuple[Passage, ...]  # in reading order


@answer_stage("search", label=_("search"), optional=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPassages:
    """Passages for the question in all its forms. Raises what the search raises."""

    top_k: int | None = None  # None: what the search was bound to

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        result = await ports.search(state.query, state.rewrites, top_k=self.top_k)
        return replace(state, result=result, passages=result.ranked)


@answer_stage("sections.whole", label=_("whole sections"))
@dataclass(frozen=True, slots=True, kw_only=True)
class WholeSections:
    """Passages become the sections that they stand in, best first, as long as the whole context has `budget_tokens`.

    Sections come from `ports.load_sections`; without it the passages stay as they are. The best passage of a section
    keeps its chunk, page and score and names what was joined (`merged`); the others of that section go, as their texts
    stand in it. A context that is over the budget already stays as it is.
    """

    budget_tokens: int = 3000

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        if ports.load_sections is None or not state.passages:
            return state
        chunks = list(dict.fromkeys(chunk for ranked in state.passages for chunk in _chunks(ranked.passage)))
        sections = await ports.load_sections(chunks, max_tokens=self.budget_tokens)
        passages, count = await asyncio.to_thread(self._widened, state.passages, sections, ports.counter)
        return replace(state, passages=passages).with_stats("sections.whole", sections=count)

    def _widened(
        self, passages: Sequence[Ranked], sections: Sequence[Section], counter: TokenCounter
    ) -> tuple[tuple[Ranked, ...], int]:
        """The passages with sections in their places, and how many."""
        widened, count = list(passages), 0
        of_chunk = {passage.chunk: section for section in sections for passage in section}
        for ranked in sorted(passages, key=lambda item: item.score, reverse=True):
            section = of_chunk.get(ranked.passage.chunk)
            if section is None or all(ranked is not item for item in widened) or not _is_part(ranked.passage, section):
                continue
            wider = _replaced(widened, ranked, section, counter)
            if context_tokens(wider, counter) <= self.budget_tokens:
                widened, count = wider, count + 1
        return tuple(widened), count


def context_tokens(passages: Sequence[Ranked], counter: TokenCounter) -> int:
    """Tokens of these passages as the numbered sources of a prompt, with their headers."""
    sources = [
        Source(number=number, passage=ranked.passage, text=ranked.passage.text.strip(), score=0.0)
        for number, ranked in enumerate(passages, start=1)
    ]
    return counter.count(render_context(sources))


def _chunks(passage: Passage) -> tuple[int, ...]:
    return passage.merged or (passage.chunk,)


def _is_part(passage: Passage, section: Section) -> bool:
    """Whether all of a passage's text stands in the section; an extract that stands for a section does not."""
    inside = {sibling.chunk for sibling in section}
    return passage.kind == "body" and len(section) > 1 and inside >= set(_chunks(passage))


def _replaced(passages: Sequence[Ranked], best: Ranked, section: Section, counter: TokenCounter) -> list[Ranked]:
    """The section in the place of its best passage, without its other passages."""
    text, starts = join_passages([sibling.text for sibling in section])
    at = next(n for n, sibling in enumerate(section) if sibling.chunk == best.passage.chunk)
    passage = replace(
        best.passage,
        text=text,
        tokens=counter.count(text),
        merged=tuple(sibling.chunk for sibling in section),
        start=starts[at],
    )
    whole = replace(best, passage=passage)
    rest = [ranked for ranked in passages if ranked is best or not _is_part(ranked.passage, section)]
    return [whole if ranked is best else ranked for ranked in rest]


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
        best = choose_best(sorted(state.passages, key=lambda ranked: ranked.score, reverse=True), self.most)
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
        cache = ports.compressed
        keys = [(query, self.method, self.ratio, ranked.passage.chunk, ranked.passage.text) for ranked in passages]
        new = [ranked for key, ranked in zip(keys, passages, strict=True) if key not in cache]
        result = await compress_passages(new, query, method=self.method, ratio=self.ratio, ports=ports)
        by_key = dict(zip((key for key in keys if key not in cache), result.passages, strict=True))
        cache.update(by_key)
        shorter = tuple(replace(ranked, passage=cache[key].passage) for key, ranked in zip(keys, passages, strict=True))
        before = sum(ports.counter.count(ranked.passage.text) for ranked in passages)
        after = sum(ports.counter.count(ranked.passage.text) for ranked in shorter)
        figures = {"tokens_before": before, "tokens_after": after, "ratio": round(after / before, 4) if before else 1.0}
        return shorter, {**result.stats, **figures, "reused": len(passages) - len(new)}


@answer_stage("context.build", label=_("numbered sources"), optional=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class BuildContext:
    """Of the best passages those that fit into the budget, numbered; of equally good ones the easier document first.

    Passages of the graph stand at the end of a ranking. Where that is longer than the context, up to GRAPH_SHARE of the
    places are for them.
    """

    max_chunks: int = 10
    budget_tokens: int = 3000

    async def __call__(self, state: AnswerState, ports: StagePorts) -> AnswerState:
        best = choose_best(sorted(state.passages, key=_by_score_and_difficulty), self.max_chunks)
        pairs = [(ranked.passage, ranked.score) for ranked in best]
        sources = build_context(pairs, budget_tokens=self.budget_tokens, counter=ports.counter)
        return replace(state, sources=tuple(sources))


def choose_best(ranked: Sequence[Ranked], most: int | None) -> list[Ranked]:
    """The first `most` passages of a ranking, the last of them passages of the graph as far as these come behind."""
    if most is None or len(ranked) <= most:
        return list(ranked)
    first = list(ranked[:most])
    room = round(GRAPH_SHARE * most) - sum(item.by_graph for item in first)
    joined = [item for item in ranked[most:] if item.by_graph][: max(room, 0)]
    standing = [at for at, item in enumerate(first) if not item.by_graph]
    out = set(standing[len(standing) - len(joined) :] if joined else ())
    return [*(item for at, item in enumerate(first) if at not in out), *joined]


def _by_score_and_difficulty(ranked: Ranked) -> tuple[float, float]:
    return -ranked.score, difficulty_rank(ranked.passage.difficulty)
