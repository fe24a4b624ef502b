"""Answers without a language model: the best sentences of the sources, quoted and cited (A2, A4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import numpy as np

from ragcore.extractive.answer_patterns import definition_subject
from ragcore.extractive.choice import Limits, SentenceChoice, choose_sentences, with_tables
from ragcore.extractive.formatting import (
    Wording,
    cite,
    compare_in_table,
    find_compared,
    listing,
    passage_block,
    section_blocks,
    supplement,
    with_figure,
    wording_for,
)
from ragcore.extractive.sections import find_list_around, find_section_answer
from ragcore.extractive.sentence_model import SentenceFeatures, SentenceScorer, compute_sentence_features, refers_back
from ragcore.extractive.sentences import Statement, read_statements
from ragcore.ports import Embedder, FloatArray, GenerationEvent, GenerationRequest, Tokenizer
from ragcore.text.question_type import question_type

WHOLE = 0.999  # coverage
NEARLY_BEST = 0.25  # share of the best probability
BESIDE_DEFINITION = 0.15  # share of the best sentence's probability that another one needs beside a definition


class ExtractiveGenerator:
    """Implements ports.LLMGenerator by quoting: a core answer from the best source, then at most two further points.

    The text is Markdown in the language of the question; every sentence is verbatim and carries its `[n]`. The form
    follows the question: a table for a comparison, the list of the source for steps and enumerations, the defining
    sentence first for a definition.
    """

    name = "extractive"

    def __init__(
        self,
        tokenizer: Tokenizer,
        embedder: Embedder | None = None,
        *,
        scorer: SentenceScorer | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._embedder = embedder
        self._scorer = scorer or SentenceScorer.shipped()
        self._limits = limits or Limits()

    async def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """See ports.LLMGenerator; block by block, nothing without sources."""
        for block in await asyncio.to_thread(self.blocks, request):
            yield GenerationEvent(text=block)
        yield GenerationEvent(final=True)

    def blocks(self, request: GenerationRequest) -> list[str]:
        """The answer as Markdown blocks; joined they are the whole text. Empty without usable sentences."""
        words = wording_for(request.question, request.language)
        kind = question_type(request.question)
        found = read_statements(request.sources, self._tokenizer)
        known = compute_sentence_features(request.question, found, self._tokenizer, self._embedder)
        chances = prefer_full_coverage(self._scorer.probabilities(known), known)
        if kind == "comparison" and (things := find_compared(request.question, self._tokenizer)):
            block = compare_in_table(things, found, chances, self._tokenizer, words)
            if block is not None:
                return [block]
        if not known.column("definition").any():
            is_definition = bool(definition_subject(request.question))
            section = find_section_answer(
                request.question, request.sources, self._tokenizer, with_parts=not is_definition
            )
            if section is not None:
                return section_blocks(section, words)
        if not found:
            return []
        choice = choose_sentences(found, chances, self._limits, request.question)
        best = choice.best
        around = find_list_around(best, found)
        if around is not None:
            lead = [f"{cite(around.intro, around.number, words)}\n\n"] if around.intro else []
            items = [(text, around.number) for text in around.items]
            block = listing(items, words, numbered=kind == "process")
            return [*lead, block, *_supplements(choice, words)]
        core = _core(request.question, with_tables(choice.core, found), best, known, chances)
        return [passage_block(core, words), *_supplements(choice, words)]


def prefer_full_coverage(chances: FloatArray, known: SentenceFeatures) -> FloatArray:
    """float32[n]: the same probabilities, but a sentence with every term of the question changes places with the best.

    Only where it is not much less likely. Short questions: "they founded Traf-O-Data" says less of who founded
    Microsoft than a sentence that names it.
    """
    whole = (known.column("coverage") >= WHOLE) & (chances >= NEARLY_BEST * chances.max(initial=0.0))
    if not whole.any():
        return chances
    best, better = int(chances.argmax()), int(np.where(whole, chances, -1.0).argmax())
    changed = chances.copy()
    changed[[best, better]] = changed[[better, best]]
    return changed


def _core(
    question: str, core: Sequence[Statement], best: Statement, known: SentenceFeatures, chances: FloatArray
) -> Sequence[Statement]:
    """The sentences of the core answer: in the order of the source, a definition in front of them, a figure in bold."""
    defining = known.column("definition")
    definitions = [s for at, s in enumerate(known.found) if defining[at] and s in core]
    first = max(definitions, key=lambda s: chances[known.found.index(s)], default=None)
    ordered = list(core)
    if first is not None:
        lead = [first, *_going_on(first, known.found)]
        worth = {id(s) for at, s in enumerate(known.found) if chances[at] >= BESIDE_DEFINITION * chances.max()}
        ordered = [*lead, *(s for s in core if s not in lead and id(s) in worth)]
    return [replace(s, text=with_figure(question, s.text)) if s is best else s for s in ordered]


def _going_on(statement: Statement, found: Sequence[Statement]) -> list[Statement]:
    """The sentence behind a definition where it goes on with it: "It is a ..."."""
    at = found.index(statement) + 1
    is_next = at < len(found) and found[at].source is statement.source and not found[at].is_row
    return [found[at]] if is_next and refers_back(found[at].text) else []


def _supplements(choice: SentenceChoice, words: Wording) -> list[str]:
    block = supplement(choice.points, words)
    return [block] if block else []
