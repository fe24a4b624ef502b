"""How good an answer is: confidence for the agentic loop, grades with a critique for Self-RAG."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from ragcore.grading.passages import Coverage
from ragcore.grounding.citations import answer_confidence, extract_citations
from ragcore.grounding.context import render_context
from ragcore.grounding.support import support_states
from ragcore.llm.client import LlmClient
from ragcore.ports import Embedder, Tokenizer
from ragcore.prompts.refusals import is_refusal
from ragcore.stage_ports import StagePorts
from ragcore.text.matching import keywords
from ragcore.text.scripts import cjk_share
from ragcore.text.sentences import split_sentences
from ragcore.types import Sentence, Source

Grade = Annotated[float, Field(ge=0, le=10)]
GRADES = ("relevance", "accuracy", "completeness", "clarity", "citation_quality")
GOOD_GRADE = 7.0
REFUSED = 0.1  # confidence in an answer that says that there is none
_LONG_WORDS = 45  # a sentence beyond it is hard to read
_WEIGHT = {"supported": 1.0, "weak": 0.5, "unsupported": 0.0}
_CRITIQUE = {
    "relevance": "Answer what is asked, in the first sentence.",
    "accuracy": "Leave out what the passages do not say: {unsupported}",
    "completeness": "Say something about: {missing}",
    "clarity": "Write shorter sentences and do not repeat yourself.",
    "citation_quality": "Put the number of its passage behind each statement.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGrades:
    """0 to 10 each, higher is better; `critique`: what the next attempt should do better, "" if nothing."""

    relevance: Grade
    accuracy: Grade
    completeness: Grade
    clarity: Grade
    citation_quality: Grade
    critique: str = ""
    by: Literal["rules", "model"] = "rules"

    @property
    def quality(self) -> float:
        """Mean of the five, 0 to 10."""
        return sum(self.values().values()) / len(GRADES)

    def values(self) -> dict[str, float]:
        """The five by name."""
        return {name: float(getattr(self, name)) for name in GRADES}

    def figures(self) -> dict[str, float]:
        """The five, rounded, for people and traces."""
        return {name: round(value, 2) for name, value in self.values().items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class _SaidGrades:
    relevance: Grade
    accuracy: Grade
    completeness: Grade
    clarity: Grade
    citation_quality: Grade
    critique: Annotated[str, Field(max_length=1000)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _SaidConfidence:
    confidence: Annotated[float, Field(ge=0, le=1)]


async def confidence_in(
    question: str, text: str, sources: Sequence[Source], evidence: Coverage, ports: StagePorts, llm: LlmClient | None
) -> tuple[float, str]:
    """0 to 1 that an answer is right and complete, and who says so ("model" or "rules").

    By rules: half the confidence of its citations and their support, half that of the passages with words of the
    question. An empty answer has 0, a refusal at most 0.1, whatever a model says.
    """
    if not text.strip():
        return 0.0, "rules"
    if is_refusal(text):
        return REFUSED, "rules"
    if llm is not None:
        context = render_context(sources)
        reply = await llm.json(
            "judge_confidence", _SaidConfidence, max_tokens=100, question=question, context=context, answer=text
        )
        if reply is not None:
            return reply.confidence, "model"
    checked = await asyncio.to_thread(_checked, text, sources, ports.tokenizer, ports.embedder)
    return 0.5 * checked[0] + 0.5 * evidence.relevant, "rules"


async def grade_answer(
    question: str, text: str, sources: Sequence[Source], ports: StagePorts, llm: LlmClient | None
) -> AnswerGrades:
    """The grades by a model; by rules without one or where it says nothing valid. A refusal or nothing: 0 each."""
    if not text.strip() or is_refusal(text):
        return AnswerGrades(relevance=0, accuracy=0, completeness=0, clarity=0, citation_quality=0)
    if llm is not None:
        context = render_context(sources)
        reply = await llm.json("judge_answer", _SaidGrades, question=question, context=context, answer=text)
        if reply is not None:
            return AnswerGrades(
                relevance=reply.relevance,
                accuracy=reply.accuracy,
                completeness=reply.completeness,
                clarity=reply.clarity,
                citation_quality=reply.citation_quality,
                critique=reply.critique.strip(),
                by="model",
            )
    return await asyncio.to_thread(grades_by_rules, question, text, sources, ports.tokenizer, ports.embedder)


def grades_by_rules(
    question: str, text: str, sources: Sequence[Source], tokenizer: Tokenizer, embedder: Embedder
) -> AnswerGrades:
    """Grades without a model.

    Relevance: share of the question's keywords that the answer has, from 4 on, because a short right answer need not
    repeat the question. Accuracy: share of supported sentences, a weak one counts half. Completeness: share of those
    keywords that the sources have which the answer has, too, from 4 on. Clarity: share of sentences that are neither
    long nor said before. Citation quality: share of sentences with a citation.
    """
    _, sentences = _checked(text, sources, tokenizer, embedder)
    question_words, answer_words = keywords(question, tokenizer), set(tokenizer.words(text))
    offered = {word for source in sources for word in tokenizer.words(source.text)}
    answerable = [word for word in question_words if word in offered]
    grades = AnswerGrades(
        relevance=4 + 6 * _share([word in answer_words for word in question_words]),
        accuracy=10 * _mean([_WEIGHT[sentence.support] for sentence in sentences]),
        completeness=4 + 6 * _share([word in answer_words for word in answerable]),
        clarity=10 * _clarity(text, tokenizer),
        citation_quality=10 * _mean([float(bool(sentence.citations)) for sentence in sentences]),
    )
    unsupported = " ".join(sentence.text for sentence in sentences if sentence.support == "unsupported")[:300]
    missing = ", ".join(word for word in answerable if word not in answer_words)
    low = [_CRITIQUE[name] for name, value in grades.values().items() if value < GOOD_GRADE]
    return replace(grades, critique=" ".join(low).format(unsupported=unsupported, missing=missing))


def _checked(
    text: str, sources: Sequence[Source], tokenizer: Tokenizer, embedder: Embedder
) -> tuple[float, list[Sentence]]:
    """Confidence of citations and support together, and the sentences with their support."""
    extracted = extract_citations(text, sources, tokenizer=tokenizer)
    trusted = embedder if embedder.trust(cjk_share(text)) > 0 else None
    sentences = support_states(extracted.text, sources, tokenizer=tokenizer, embedder=trusted)
    return answer_confidence(extracted.citations, sentences), sentences


def _clarity(text: str, tokenizer: Tokenizer) -> float:
    sentences = [sentence.strip() for sentence in split_sentences(text) if sentence.strip()]
    fine = [
        len(tokenizer.words(sentence)) <= _LONG_WORDS and sentence not in sentences[:at]
        for at, sentence in enumerate(sentences)
    ]
    return _share(fine)


def _share(values: Sequence[bool]) -> float:
    """Share of what is true; 1 if there is nothing."""
    return sum(values) / len(values) if values else 1.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
