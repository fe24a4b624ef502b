"""Answers without a language model: the best sentences of the sources, quoted and cited (A2, A4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from ragcore.ports import Embedder, GenerationEvent, GenerationRequest, Tokenizer
from ragcore.providers.extractive_scores import ExtractiveWeights, SentenceScorer
from ragcore.providers.extractive_sections import SectionAnswer, section_answer
from ragcore.providers.extractive_sentences import Statement, statements
from ragcore.text.scripts import language_of
from ragcore.text.similarity import jaccard
from ragcore.types import Language

SUPPLEMENT_HEADING = {"zh": "**补充要点**", "en": "**Also relevant**"}
CORE_SENTENCES = 2
SUPPLEMENTS = 2
REDUNDANT = 0.7  # Jaccard of the terms from which two sentences say the same


class ExtractiveGenerator:
    """Implements ports.LLMGenerator by quoting: a core answer of at most two sentences, then at most two more.

    The text is Markdown in the language of the question; every sentence is verbatim and carries its `[n]`.
    """

    name = "extractive"

    def __init__(
        self, tokenizer: Tokenizer, embedder: Embedder | None = None, *, weights: ExtractiveWeights | None = None
    ) -> None:
        self._tokenizer = tokenizer
        self._scorer = SentenceScorer(tokenizer, embedder, weights or ExtractiveWeights())

    async def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """See ports.LLMGenerator; block by block, nothing without sources."""
        for block in await asyncio.to_thread(self.blocks, request):
            yield GenerationEvent(text=block)
        yield GenerationEvent(final=True)

    def blocks(self, request: GenerationRequest) -> list[str]:
        """The answer as Markdown blocks; joined they are the whole text. Empty without usable sentences."""
        language = request.language if request.language != "other" else language_of(request.question)
        section = section_answer(request.question, request.sources, self._tokenizer)
        if section is not None:
            return _listed(section, language)
        found = statements(request.sources, self._tokenizer)
        if not found:
            return []
        core, points = _arranged(found, self._scorer.scores(request.question, found), _budget(language))
        blocks = [_joined(core, language)]
        if points:
            lines = "\n".join(f"- {_joined(point, language)}" for point in points)
            blocks.append(f"\n\n{SUPPLEMENT_HEADING.get(language, SUPPLEMENT_HEADING['en'])}\n\n{lines}")
        return blocks


def _listed(answer: SectionAnswer, language: Language) -> list[str]:
    """The sentence that introduces and the list, each point with its marker."""
    gap = "" if language == "zh" else " "
    lines = "\n".join(f"- {text}{gap}[{source.number}]" for text, source in answer.items)
    return [f"{answer.intro}{gap}[{answer.source.number}]\n\n", lines] if answer.intro else [lines]


def _budget(language: Language) -> int:
    """Columns of text, two for a CJK character: about 240 Chinese characters or 115 English words."""
    return 480 if language == "zh" else 720


def _columns(text: str) -> int:
    return sum(2 if char > "\u2e7f" else 1 for char in text)


def _arranged(
    found: Sequence[Statement], scores: Sequence[float], budget: int
) -> tuple[list[Statement], list[list[Statement]]]:
    """The core answer and the supplementary points, sentences in the order of their sources.

    What the budget leaves goes to the sentence behind the best one, which often completes it, and to the fifth best.
    """
    order = sorted(range(len(found)), key=lambda i: -scores[i])
    chosen: list[Statement] = []
    for at in order:
        if len(chosen) < CORE_SENTENCES + SUPPLEMENTS and _fits(found[at], chosen, budget):
            chosen.append(found[at])
    core, points = chosen[:CORE_SENTENCES], [[s] for s in chosen[CORE_SENTENCES:]]
    behind = order[0] + 1
    extra = [found[behind]] if behind < len(found) and found[behind].source is found[order[0]].source else []
    for statement in (*extra, *(found[at] for at in order)):
        short = next((point for point in points if len(point) == 1), None)
        if short is not None and _fits(statement, chosen, budget):
            short.append(statement)
            chosen.append(statement)
    return _in_order(core), [_in_order(point) for point in points]


def _fits(statement: Statement, chosen: Sequence[Statement], budget: int) -> bool:
    """Whether a sentence says something new within the budget; the first one always fits."""
    used = sum(_columns(s.text) for s in chosen)
    if chosen and used + _columns(statement.text) > budget:
        return False
    return all(jaccard(set(statement.terms), set(s.terms)) < REDUNDANT for s in chosen)


def _in_order(group: Sequence[Statement]) -> list[Statement]:
    return sorted(group, key=lambda s: (s.source.number, s.position))


def _joined(group: Sequence[Statement], language: Language) -> str:
    """Sentences, each with its marker."""
    gap = "" if language == "zh" else " "
    return gap.join(f"{statement.text}{gap}[{statement.source.number}]" for statement in group)
