"""Whether an answer is worth writing from the sources that were found (D21, D23)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from chat.answering.retrieval import Found
from knowledge import engines
from ragcore.answerability import answerability, threshold_for
from ragcore.embedding.caching import CachingEmbedder
from ragcore.options import AnswerOptions
from ragcore.types import Source
from ragcore.types.answering import AnswerState

LEAST_RATE = 0.01  # of false refusals that were measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the sources are worth."""

    is_answerable: bool
    most_confidence: float = 1.0  # that an answer from them deserves, 0 to 1


def verdict_on(state: AnswerState, found: Found, sources: Sequence[Source], options: AnswerOptions) -> Verdict:
    """Worth it where something near was found and, where no language model can refuse by itself, it probably answers.

    The confidence of a quoted answer is bounded by the root of that probability: quotations are always supported, so
    their support alone says nothing of whether they answer the question.
    """
    if not found.retrieved.relevant:
        return Verdict(is_answerable=False)
    if engines.chat_model() is not None:
        return Verdict(is_answerable=True)
    rate = options.false_refusals
    judged = answerability(
        state.query,
        sources,
        tokenizer=engines.tokenizer(),
        embedder=CachingEmbedder(engines.embedder()),
        idf=found.retrieved.state.query.weights,
    )
    line = threshold_for(state.question.language, found.retrieved.searched, max(rate, LEAST_RATE)) if rate else 0.0
    return Verdict(is_answerable=judged.score >= line, most_confidence=math.sqrt(judged.score))
