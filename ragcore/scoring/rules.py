"""Scores an answer against a reference answer, its question and its contexts, without a language model.

Claims of one text are checked against another with the support model (`ragcore.grounding.support_model`), in both
directions, as RAGChecker does with a language model (Ru et al. 2024, arXiv:2408.08067); to them come the key words of
the reference that the answer adds, and the similarity of vectors. All scores are 0 to 1, higher is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ragcore.grounding.source_texts import MARKER, SourceTexts
from ragcore.grounding.support import claims
from ragcore.grounding.support_model import SupportFeatures, SupportModel
from ragcore.ports import Embedder, Tokenizer
from ragcore.prompts.refusals import is_refusal
from ragcore.scoring.claims import ClaimVerdict
from ragcore.scoring.coherence import coherence
from ragcore.scoring.contradictions import Statement, contradiction
from ragcore.text.matching import cosine_matrix, keywords, overlap
from ragcore.text.normalise import squeeze
from ragcore.text.sentences import split_sentences
from ragcore.types import Passage, Source

# Fitted by ridge regression to people's preferences, rounded; `make bench-judge` cross-validates them.
WEIGHTS = {"coverage": 0.5, "similarity": 0.25, "agreement": 0.25}
LEAST_WORDS = 4  # a reference of fewer key words says little: each of them counts as one of so many
CONTRADICTED = 0.25  # what the probability of a contradicted claim is multiplied by
SMOOTHING = 0.05  # of a share before its log odds
RELATED = 0.6  # cosine of question and answer from which the answer is about the question as a whole


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """What is judged. Without a reference there is no correctness, without contexts no faithfulness."""

    question: str
    answer: str
    reference: str = ""
    key_points: Sequence[str] = ()  # a complete answer says all of them; without them the claims of the reference
    contexts: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Scores of an answer, 0 to 1, higher is better; None: nothing to compare with."""

    score: float | None = None  # beside the reference, as a whole; this one is measured against people
    correctness: float | None = None  # how far what the answer says agrees with the reference
    completeness: float | None = None  # how much of the reference, or of the key points, it says
    faithfulness: float | None = None  # whether the contexts carry its claims: mean of all and of the weakest one
    relevance: float | None = None  # whether it is about the question
    coherence: float | None = None
    contradictions: tuple[tuple[str, str], ...] = ()  # claim, rule
    by_model: bool = False
    claims: tuple[ClaimVerdict, ...] = ()  # of the answer, as the model checked them; () where it did not


@dataclass(frozen=True, slots=True)
class AnswerJudge:
    """Judges by rules and the shipped small models; `embedder` None: words alone."""

    tokenizer: Tokenizer
    embedder: Embedder | None = None

    def judge(self, judged: JudgedAnswer) -> Judgement:
        """All scores that can be given."""
        answer = MARKER.sub("", judged.answer).strip()
        answer_claims = _claims(answer)
        if not answer_claims or is_refusal(judged.answer):
            return _refused(judged)
        relevance, order = self._relevance(judged.question, answer), coherence(answer, question=judged.question)
        faithful = self._faithfulness(answer_claims, judged.contexts)
        if not (judged.reference.strip() or judged.key_points):
            return Judgement(faithfulness=faithful, relevance=relevance, coherence=order)
        reference = judged.reference.strip() or "\n".join(judged.key_points)
        parts = _Comparison(self, judged.question, answer, reference, answer_claims)
        points = [point for point in judged.key_points if point.strip()] or _claims(reference)
        return Judgement(
            score=parts.score,
            correctness=(parts.agreement + parts.similarity) / 2,
            completeness=(parts.coverage + float(np.mean(self.carried(points, [answer])))) / 2,
            faithfulness=faithful,
            relevance=relevance,
            coherence=order,
            contradictions=tuple(parts.contradictions),
        )

    def carried(self, answer_claims: Sequence[str], texts: Sequence[str]) -> list[float]:
        """Probability that the texts carry each claim."""
        sources = [_source(number, text) for number, text in enumerate(texts, 1)]
        evidence = SupportFeatures(SourceTexts(sources, self.tokenizer), self.embedder)
        model = SupportModel.shipped(self.embedder.model if self.embedder else "")
        return [model.probability(evidence, claim) for claim in answer_claims]

    def cosine(self, text: str, other: str) -> float:
        """Of the vectors of two texts, 0 to 1; without an embedder the share of common keywords."""
        if self.embedder is None:
            shared = overlap(text, other, self.tokenizer), overlap(other, text, self.tokenizer)
            return 2 * shared[0] * shared[1] / sum(shared) if sum(shared) else 0.0
        vectors = self.embedder.embed_documents([text, other])
        return max(0.0, min(1.0, float(cosine_matrix(vectors[:1], vectors[1:])[0, 0])))

    def _faithfulness(self, answer_claims: Sequence[str], contexts: Sequence[str]) -> float | None:
        texts = [text for text in contexts if text.strip()]
        if not texts:
            return None
        probabilities = self.carried(answer_claims, texts)
        return (float(np.mean(probabilities)) + min(probabilities)) / 2

    def _relevance(self, question: str, answer: str) -> float:
        """Mean of the share of the question's keywords that the answer takes up, and of the scaled cosine of both."""
        return (overlap(question, answer, self.tokenizer) + min(1.0, self.cosine(question, answer) / RELATED)) / 2


@dataclass(frozen=True)
class _Comparison:
    """An answer beside its reference."""

    judge: AnswerJudge
    question: str
    answer: str
    reference: str
    claims: Sequence[str]

    @property
    def score(self) -> float:
        return sum(weight * float(getattr(self, name)) for name, weight in WEIGHTS.items())

    @cached_property
    def coverage(self) -> float:
        """Key words of the reference beyond the question that the answer has; every further one counts less.

        People prefer an answer with three of ten points to one with none far more than one with ten to one with seven.
        """
        question_words = set(keywords(self.question, self.judge.tokenizer))
        every = set(keywords(self.reference, self.judge.tokenizer))
        expected = (every - question_words) or every
        if squeeze(self.reference) in squeeze(self.answer):
            return 1.0
        shared = len(expected & set(self.judge.tokenizer.words(self.answer)))
        return math.log1p(shared) / math.log1p(max(len(expected), LEAST_WORDS))

    @cached_property
    def similarity(self) -> float:
        return self.judge.cosine(self.reference, self.answer)

    @cached_property
    def agreement(self) -> float:
        """Mean probability that the reference carries a claim of the answer, as log odds scaled to 0 to 1."""
        wrong = {claim for claim, _ in self.contradictions}
        probabilities = self.judge.carried(self.claims, [self.reference])
        sizes = np.array([1 + len(keywords(claim, self.judge.tokenizer)) for claim in self.claims], np.float64)
        worth = [
            p * (CONTRADICTED if claim in wrong else 1) for p, claim in zip(probabilities, self.claims, strict=True)
        ]
        return _scaled_log_odds(float(np.average(worth, weights=sizes)))

    @cached_property
    def contradictions(self) -> list[tuple[str, str]]:
        statements = [Statement(sentence, self.judge.tokenizer) for sentence in split_sentences(self.reference)]
        pairs = []
        for claim in self.claims:
            statement = Statement(claim, self.judge.tokenizer)
            nearest = max(statements, key=lambda other: len(statement.words & other.words), default=None)
            if nearest is not None and (rule := contradiction(statement, nearest)) is not None:
                pairs.append((claim, rule))
        return pairs


def comparison_parts(judge: AnswerJudge, judged: JudgedAnswer) -> dict[str, float]:
    """The features by the names of WEIGHTS, for fitting and measuring; 0 each for an answer that claims nothing."""
    answer = MARKER.sub("", judged.answer).strip()
    answer_claims = _claims(answer)
    if not answer_claims or is_refusal(judged.answer):
        return dict.fromkeys(WEIGHTS, 0.0)
    parts = _Comparison(judge, judged.question, answer, judged.reference, answer_claims)
    return {name: float(getattr(parts, name)) for name in WEIGHTS}


def _refused(judged: JudgedAnswer) -> Judgement:
    """Of a refusal, or of an answer that claims nothing: it misses the reference, and claims nothing wrong."""
    missed = 0.0 if judged.reference.strip() or judged.key_points else None
    return Judgement(
        score=missed,
        correctness=missed,
        completeness=missed,
        faithfulness=1.0 if judged.contexts and judged.answer.strip() else None,
        relevance=0.0,
        coherence=1.0 if judged.answer.strip() else 0.0,
    )


def _claims(text: str) -> list[str]:
    """The claims of a text; a text of a few characters is one claim."""
    return list(claims(text)) or ([text.strip()] if any(char.isalnum() for char in text) else [])


def _scaled_log_odds(share: float) -> float:
    most = math.log((1 + SMOOTHING) / SMOOTHING)
    return 0.5 + math.log((share + SMOOTHING) / (1 - share + SMOOTHING)) / (2 * most)


def _source(number: int, text: str) -> Source:
    passage = Passage(chunk=number, document=number, version=number, text=text, title="")
    return Source(number=number, passage=passage, text=text, score=1.0)
