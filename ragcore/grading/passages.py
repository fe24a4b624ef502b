"""How good the passages of a search are for a question, and how much evidence they bring."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as validated

from ragcore.grounding.context import render_context
from ragcore.llm.client import LlmClient
from ragcore.ports import Embedder, Tokenizer
from ragcore.stage_ports import StagePorts
from ragcore.text.matching import cosine_matrix, jaccard, keywords
from ragcore.text.question_type import wanted
from ragcore.text.scripts import cjk_share
from ragcore.text.sentences import split_sentences
from ragcore.text.word_lists import Cues, read_cues
from ragcore.types import Source
from ragcore.types.answering import Ranked

CoverageStatus = Literal["excellent", "good", "adequate", "insufficient"]
STOP_AT = 0.7
LOW = 0.5  # below it the next query adds terms of the topic, from it on details
CATEGORIES = 5
_STATUS: tuple[tuple[float, CoverageStatus], ...] = ((0.8, "excellent"), (0.6, "good"), (0.4, "adequate"))

Dimension = Literal["relevance", "completeness", "accuracy", "coherence"]
DIMENSIONS: tuple[Dimension, ...] = ("relevance", "completeness", "accuracy", "coherence")
WEAK = 0.6  # a dimension below it fires its strategy
_READ = 6  # passages that are judged, the best ones
_CHARACTERS = 1200  # of each passage that a model is shown
_NEAR = 3  # passages whose mean is the relevance
_SINGLE = 0.8  # accuracy of what only one document says: nobody contradicts, nobody confirms
_JACCARD_FULL = 0.25  # shared share of words from which two passages belong together
NO_ANSWER = "-"  # in the prompt of the first round
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
Unit = Annotated[float, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """`confidence` 0 to 1; which categories some passage covers and which none does; keywords that no passage has.

    `relevant`: the same confidence of the passages that have keywords alone, whatever was found besides.
    """

    confidence: float = 0.0
    relevant: float = 0.0
    status: CoverageStatus = "insufficient"
    covered: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    missing_words: tuple[str, ...] = ()

    def short(self) -> dict[str, Any]:
        """Confidence, rounded, and status, for a step."""
        return {"confidence": round(self.confidence, 3), "status": self.status}

    def figures(self) -> dict[str, Any]:
        """All of it in plain values, for responses and traces."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def coverage_categories() -> Mapping[str, Cues]:
    """The product's five: definition, mechanism, procedure, figures, application."""
    return read_cues("ragcore.grading", "evidence_categories.txt")


def compute_coverage(
    query: str, passages: Sequence[Ranked], tokenizer: Tokenizer, categories: Mapping[str, Cues] | None = None
) -> Coverage:
    """min(1, 0.7 * mean keyword relevance + 0.3 * (categories covered / 5)); 0 without evidence.

    Keyword relevance of a passage: the share of the query's keywords that it has. All passages count in the mean; those
    that have none cover no category. A document with categories of its own (its attribute) covers these; of any other
    one the words tell.
    """
    categories = coverage_categories() if categories is None else categories
    words = keywords(query, tokenizer)
    have = [frozenset(tokenizer.words(text_of(ranked))) for ranked in passages]
    shares = [sum(word in words_here for word in words) / len(words) if words else 0.0 for words_here in have]
    relevant = [ranked for ranked, share in zip(passages, shares, strict=True) if share > 0]
    if not relevant:
        return Coverage(missing=tuple(categories), missing_words=tuple(words))
    cued = _cued(relevant, categories)
    without_own = _cued([ranked for ranked in relevant if not ranked.passage.categories], categories)
    of_documents = (name for ranked in relevant for name in ranked.passage.categories)
    covered = tuple(dict.fromkeys((*without_own, *of_documents)))
    breadth = 0.3 * min(len(covered) / CATEGORIES, 1.0)
    confidence = min(1.0, 0.7 * sum(shares) / len(shares) + breadth)
    return Coverage(
        confidence=confidence,
        relevant=min(1.0, 0.7 * sum(shares) / len(relevant) + breadth),
        status=coverage_status(confidence),
        covered=covered,
        missing=tuple(name for name in categories if name not in cued and name not in covered),
        missing_words=tuple(word for word in words if not any(word in words_here for words_here in have)),
    )


def _cued(passages: Sequence[Ranked], categories: Mapping[str, Cues]) -> tuple[str, ...]:
    """Categories whose words stand in some of the passages."""
    texts = [text_of(ranked) for ranked in passages]
    return tuple(name for name, cues in categories.items() if any(cues.matches(text) for text in texts))


def coverage_status(confidence: float) -> CoverageStatus:
    """Excellent from 0.8, good from 0.6, adequate from 0.4, insufficient below."""
    return next((status for least, status in _STATUS if confidence >= least), "insufficient")


def text_of(ranked: Ranked) -> str:
    """What a passage says, with the title and headings that it stands under."""
    passage = ranked.passage
    return "\n".join((passage.title, *passage.heading_path, passage.text))


@validated(frozen=True, slots=True, kw_only=True)
class PassageScores:
    """0 to 1 each, higher is better. `missing`: what a model says is not there."""

    relevance: Unit
    completeness: Unit
    accuracy: Unit
    coherence: Unit
    missing: tuple[str, ...] = ()
    by: Literal["rules", "model"] = "rules"

    @property
    def mean(self) -> float:
        return (self.relevance + self.completeness + self.accuracy + self.coherence) / 4

    @property
    def weak(self) -> tuple[Dimension, ...]:
        """Dimensions below 0.6, in their fixed order."""
        return tuple(name for name in DIMENSIONS if getattr(self, name) < WEAK)

    def figures(self) -> dict[str, float]:
        """The four, rounded, for people and traces."""
        return {name: round(getattr(self, name), 3) for name in DIMENSIONS}


@validated(frozen=True, slots=True, kw_only=True)
class _Said:
    relevance: Unit
    completeness: Unit
    accuracy: Unit
    coherence: Unit
    missing: list[str] = Field(default_factory=list, max_length=20)


async def grade_passages(
    query: str, ranked: Sequence[Ranked], ports: StagePorts, llm: LlmClient | None, *, answer_before: str = ""
) -> PassageScores:
    """The scores by a model; by rules without one or where it says nothing valid. Nothing found: 0 each.

    `answer_before`: what was written from the passages of the round before, which the model is shown, too.
    """
    if not ranked:
        return PassageScores(relevance=0, completeness=0, accuracy=0, coherence=0)
    if llm is not None:
        before = answer_before[:_CHARACTERS] or NO_ANSWER
        reply = await llm.json("judge_passages", _Said, question=query, context=shown(ranked), answer=before)
        if reply is not None:
            return PassageScores(
                relevance=reply.relevance,
                completeness=reply.completeness,
                accuracy=reply.accuracy,
                coherence=reply.coherence,
                missing=tuple(reply.missing[:5]),
                by="model",
            )
    return await asyncio.to_thread(passages_by_rules, query, ranked, ports.tokenizer, ports.embedder)


def unfit_judge(llm: LlmClient | None) -> dict[str, str]:
    """What a step says of a model that was to grade and cannot, by its exam: {"unfit": its name}; else nothing."""
    return {"unfit": llm.model.name} if llm is not None and llm.counts["unfit"] else {}


async def retrieval_grade(
    query: str, ranked: Sequence[Ranked], ports: StagePorts, llm: LlmClient | None
) -> tuple[float, str]:
    """0 to 10, and who gave it ("model" or "rules"): whether an answer can be written from these passages."""
    if ranked and llm is not None:
        reply = await llm.json("judge_retrieval", _Grade, max_tokens=100, question=query, context=shown(ranked))
        if reply is not None:
            return reply.grade, "model"
    scores = await grade_passages(query, ranked, ports, None)
    return 10 * (0.5 * scores.relevance + 0.5 * scores.completeness), "rules"


@validated(frozen=True, slots=True, kw_only=True)
class _Grade:
    grade: Annotated[float, Field(ge=0, le=10)]


def shown(ranked: Sequence[Ranked]) -> str:
    """The best passages as a model is shown them, numbered, each cut to a readable length."""
    best = [r.passage for r in ranked[:_READ]]
    return render_context(
        [Source(number=n, passage=p, text=p.text[:_CHARACTERS], score=1) for n, p in enumerate(best, 1)]
    )


def passages_by_rules(query: str, ranked: Sequence[Ranked], tokenizer: Tokenizer, embedder: Embedder) -> PassageScores:
    """Scores without a model.

    Relevance: mean of the best three passages, each the larger of its share of keywords and the cosine as far as the
    embedder can be trusted with the script. Completeness: share of keywords that all passages together have, halved
    where the question wants a figure or time and no passage that has keywords holds one. Accuracy: share of pairs of
    documents whose nearest sentences do not differ in their figures; 0.8 where only one document speaks. Coherence: how
    many words the other passages share with the first one. The last two count at most as much as relevance allows.
    """
    texts = [text_of(r) for r in ranked[:_READ]]
    words = keywords(query, tokenizer)
    have = [set(tokenizer.words(text)) for text in texts]
    shares = [sum(word in words_here for word in words) / len(words) if words else 0.0 for words_here in have]
    cosines = _cosines(query, texts, embedder)
    near = sorted((max(pair) for pair in zip(shares, cosines, strict=True)), reverse=True)[:_NEAR]
    relevance = _unit(sum(near) / len(near))
    complete = (
        sum(any(word in words_here for words_here in have) for word in words) / len(words) if words else relevance
    )
    if wanted(query) in ("number", "time") and not any(
        share and _FIGURE.search(t) for share, t in zip(shares, texts, strict=True)
    ):
        complete /= 2
    ceiling = _unit(relevance + 0.4)
    return PassageScores(
        relevance=relevance,
        completeness=_unit(complete),
        accuracy=min(ceiling, _agreement(words, ranked[:_READ], tokenizer)),
        coherence=min(ceiling, _coherence(ranked[:_READ], have)),
    )


def _cosines(query: str, texts: Sequence[str], embedder: Embedder) -> list[float]:
    trust = embedder.trust(cjk_share(query))
    if trust <= 0:
        return [0.0] * len(texts)
    row = cosine_matrix(embedder.embed_queries([query]), embedder.embed_documents(list(texts)))[0]
    return [_unit(trust * float(value)) for value in np.asarray(row)]


def _agreement(words: Sequence[str], ranked: Sequence[Ranked], tokenizer: Tokenizer) -> float:
    """Whether documents say the same figures about the question."""
    figures: dict[int, set[str]] = {}
    for r in ranked:
        sentence = _nearest(words, r.passage.text, tokenizer)
        if numbers := {number.replace(",", "") for number in _FIGURE.findall(sentence)}:
            figures.setdefault(r.passage.document, set()).update(numbers)
    pairs = list(combinations(figures.values(), 2))
    if not pairs:
        return _SINGLE
    return sum(bool(a & b) for a, b in pairs) / len(pairs)


def _nearest(words: Sequence[str], text: str, tokenizer: Tokenizer) -> str:
    """The sentence with most of the words, if it has at least half of them; "" otherwise."""
    sentences = split_sentences(text)
    counts = [sum(word in words_here for word in words) for words_here in (set(tokenizer.words(s)) for s in sentences)]
    best = max(range(len(sentences)), key=counts.__getitem__, default=None)
    return sentences[best] if best is not None and words and counts[best] * 2 >= len(words) else ""


def _coherence(ranked: Sequence[Ranked], have: Sequence[set[str]]) -> float:
    """Mean over the passages behind the first: 1 for one of the same document, else by the words that both share."""
    if len(ranked) < 2:
        return 1.0
    first = ranked[0].passage.document
    near = [
        1.0 if r.passage.document == first else _unit(jaccard(have[0], words_here) / _JACCARD_FULL)
        for r, words_here in zip(ranked[1:], have[1:], strict=True)
    ]
    return sum(near) / len(near)


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))
