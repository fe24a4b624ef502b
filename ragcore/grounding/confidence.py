"""Figures between 0 and 1 that say how far an answer can be relied on."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.types import Citation, Sentence

_WEIGHT = {"supported": 1.0, "weak": 0.5, "unsupported": 0.0}


def citation_confidence(*, score: float, similarity: float, frequency: int) -> float:
    """0.4 of the source's score, 0.4 of its similarity to the sentence, 0.2 of how often it is cited (V7)."""
    return 0.4 * _unit(score) + 0.4 * _unit(similarity) + 0.2 * min(frequency / 3, 1.0)


def answer_confidence(citations: Sequence[Citation], sentences: Sequence[Sentence]) -> float:
    """Half the mean confidence of the citations, half the share of supported sentences (a weak one counts half).

    Nothing cited: 0. No sentence that could be checked: the citations alone.
    """
    if not citations:
        return 0.0
    cited = sum(citation.confidence for citation in citations) / len(citations)
    if not sentences:
        return cited
    return 0.5 * cited + 0.5 * sum(_WEIGHT[sentence.support] for sentence in sentences) / len(sentences)


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))
