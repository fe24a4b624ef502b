"""Whole sections instead of fragments, where the budget allows (D37)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragcore.answering.pipeline import answer_stage
from ragcore.grounding.context import render_context
from ragcore.labels import gettext_noop as _
from ragcore.ports import TokenCounter
from ragcore.stage_ports import StagePorts
from ragcore.text.joining import join_passages
from ragcore.types import Passage, Source
from ragcore.types.answering import AnswerState, Ranked

Section = tuple[Passage, ...]  # in reading order


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
        kept, count = list(passages), 0
        of_chunk = {passage.chunk: section for section in sections for passage in section}
        for ranked in sorted(passages, key=lambda item: item.score, reverse=True):
            section = of_chunk.get(ranked.passage.chunk)
            if section is None or all(ranked is not left for left in kept) or not _is_part(ranked.passage, section):
                continue
            wider = _replaced(kept, ranked, section, counter)
            if context_tokens(wider, counter) <= self.budget_tokens:
                kept, count = wider, count + 1
        return tuple(kept), count


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
    others = [ranked for ranked in passages if ranked is best or not _is_part(ranked.passage, section)]
    return [whole if ranked is best else ranked for ranked in others]
