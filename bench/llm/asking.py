"""One question, answered in one way from given sources, and what is measured of the answer."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from ragcore.answerability import score_answerability, threshold_for
from ragcore.answerability.confidence import BEYOND_REFUSAL, CERTAIN, DOUBTFUL
from ragcore.errors import ModelUnavailableError
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.grounding.citations import extract_citations
from ragcore.grounding.context import render_context
from ragcore.grounding.facts import figures, plain_figure
from ragcore.grounding.support import support_states
from ragcore.grounding.trusted_writing import TrustedWriting
from ragcore.llm.client import LlmClient, fenced
from ragcore.llm.exam_tasks import answer_rules
from ragcore.llm.model_profile import ModelProfile, WritingWay
from ragcore.llm.stated_answer import is_stated
from ragcore.options import AnswerOptions
from ragcore.ports import ChatMessage, ChatModel, Embedder, GenerationEvent, GenerationRequest
from ragcore.prompts import load
from ragcore.prompts.refusals import is_refusal, refusal
from ragcore.text.normalise import squeeze
from ragcore.text.scripts import language_of
from ragcore.training.answer_sets import AnswerSet, SetQuestion
from ragcore.types import Source

MAX_TOKENS = 700
_MARKS = re.compile(r"\[\d{1,3}\]|\*\*|^\s*(?:[-*+]|\d{1,3}\.)\s|^#+\s.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFigures:
    """One answer against what is known of its question."""

    question: str
    text: str
    way: WritingWay  # in which the shown text was written
    is_refused: bool
    is_doubted: bool  # the model says that what is quoted does not state the answer
    contains: bool  # a right answer, letter by letter
    cites: bool  # a document that answers
    supported: tuple[bool, ...]  # by sentence
    has_unknown_number: bool  # that no cited source holds
    is_in_language: bool  # of the question
    characters: int
    seconds: float
    first_seconds: float | None = None
    replies: tuple[str, ...] = ()  # of the model, as they came
    counts: Mapping[str, int] = field(default_factory=dict)  # what was left out, by reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Answers the questions of a set with one model and profile, as the product does it."""

    data: AnswerSet
    chat: ChatModel | None  # None: quoted answers
    profile: ModelProfile
    embedder: Embedder | None

    async def ask(self, question: SetQuestion) -> AnswerFigures:
        """Search, decide whether the sources answer, write, and measure."""
        ranking = self.data.ranking
        sources = tuple(ranking.with_sentences(ranking.sources(question.text)))
        language = language_of(question.text)
        begun = time.perf_counter()
        is_answerable, score = self._verdict(question.text, sources)
        is_sure = is_answerable and score >= BEYOND_REFUSAL
        if not is_answerable and (self.chat is None or not self.profile.believes_refusals):
            text = refusal("report", language)
            return self._figures(question, sources, text, "quote", seconds=time.perf_counter() - begun)

        async def answerable() -> bool:
            return is_sure

        async def states(text: str) -> bool | None:
            return score >= DOUBTFUL and await self._states(question.text, text)

        trust = TrustedWriting(
            profile=self.profile,
            extract=ExtractiveGenerator(ranking.tokenizer, self.embedder),
            tokenizer=ranking.tokenizer,
            counter=ranking.counter,
            embedder=self.embedder,
            is_answerable=answerable,
            states=states if self.chat is not None and score < CERTAIN else None,
        )
        reader, text, first = _Reader(self.chat), "", None
        request = GenerationRequest(
            question=question.text,
            sources=sources,
            language=language,
            messages=_messages(question.text, sources),
            max_tokens=MAX_TOKENS,
        )
        async for event in trust.stream(request, reader.read):
            if event.text and first is None:
                first = time.perf_counter() - begun
            text += event.text
        figures_of_answer = self._figures(
            question, sources, text.strip(), trust.way, seconds=time.perf_counter() - begun
        )
        figures_of_answer = replace(figures_of_answer, is_doubted=trust.is_doubted)
        return replace(figures_of_answer, first_seconds=first, replies=tuple(reader.replies), counts=dict(trust.counts))

    async def _states(self, question: str, text: str) -> bool | None:
        """Whether a quoted text states the answer, as the model says."""
        if self.chat is None or not self.profile.checks:
            return None
        return await is_stated(LlmClient(self.chat, is_patient=True), question, text)

    def _verdict(self, question: str, sources: Sequence[Source]) -> tuple[bool, float]:
        """Whether the sources answer by the shipped line, and the score of that."""
        ranking = self.data.ranking
        judged = score_answerability(
            question,
            sources,
            tokenizer=ranking.tokenizer,
            embedder=self.embedder,
            idf=ranking.query(question).weights,
        )
        total = len(ranking.passages)
        line = threshold_for(language_of(question), total, AnswerOptions().false_refusals)
        return judged.is_answerable(line, total), judged.score

    def _figures(
        self, question: SetQuestion, sources: Sequence[Source], text: str, way: WritingWay, *, seconds: float
    ) -> AnswerFigures:
        tokenizer = self.data.ranking.tokenizer
        found = extract_citations(text, sources, tokenizer=tokenizer)
        refused = {refusal("report", language) for language in ("en", "zh")}
        sentences = support_states(
            found.text, sources, tokenizer=tokenizer, embedder=self.embedder, refusals=sorted(refused)
        )
        documents = {citation.source.passage.external_id for citation in found.citations}
        cited = " ".join(f"{one.passage.title} {one.text}" for one in sources if one.passage.external_id in documents)
        plain, squeezed = _MARKS.sub(" ", text), squeeze(text)
        known = {plain_figure(figure) for figure in figures(f"{cited} {question.text}")}
        return AnswerFigures(
            question=question.text,
            text=text,
            way=way,
            is_refused=is_refusal(text),
            is_doubted=False,
            contains=any(gold in squeezed for answer in question.answers if (gold := squeeze(answer))),
            cites=bool(documents & question.relevant),
            supported=tuple(sentence.support != "unsupported" for sentence in sentences),
            has_unknown_number=any(plain_figure(figure) not in known for figure in figures(plain)),
            is_in_language=language_of(plain) == language_of(question.text),
            characters=len(" ".join(text.split())),
            seconds=seconds,
        )


@dataclass(slots=True)
class _Reader:
    """Asks the model and keeps what it said."""

    chat: ChatModel | None
    replies: list[str] = field(default_factory=list)

    async def read(self, request: GenerationRequest) -> AsyncGenerator[GenerationEvent, None]:
        if self.chat is None:
            raise ModelUnavailableError("unreachable")
        self.replies.append("")
        stream = self.chat.stream(request.messages, temperature=0.0, max_tokens=request.max_tokens)
        async with aclosing(stream) as events:  # type: ignore[type-var]
            async for event in events:
                self.replies[-1] += event.text
                yield event


def _messages(question: str, sources: Sequence[Source]) -> tuple[ChatMessage, ...]:
    """The prompt of an answer that the model marks by itself."""
    system = answer_rules(question, language_of(question))
    user = load("answer_user").render(context=render_context(sources), question=fenced(question))
    return ChatMessage(role="system", content=system), ChatMessage(role="user", content=user)
