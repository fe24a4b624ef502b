"""How much evidence for a question a search has brought (A3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from ragcore.ports import Tokenizer
from ragcore.text.matching import keywords, overlap
from ragcore.text.word_lists import Cues, read_cues
from ragcore.types.answering import Ranked

CoverageStatus = Literal["excellent", "good", "adequate", "insufficient"]
STOP_AT = 0.7
LOW = 0.5  # below it the next query adds terms of the topic, from it on details
CATEGORIES = 5
_STATUS: tuple[tuple[float, CoverageStatus], ...] = ((0.8, "excellent"), (0.6, "good"), (0.4, "adequate"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """`confidence` 0 to 1; which categories some passage covers and which none does; keywords that no passage has."""

    confidence: float = 0.0
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

    Keyword relevance of a passage: the share of the query's keywords that it has. Passages that have none are no
    evidence: they neither cover a category nor count in the mean.
    """
    categories = coverage_categories() if categories is None else categories
    words = keywords(query, tokenizer)
    texts = [text_of(ranked) for ranked in passages]
    relevance = {text: share for text in texts if (share := overlap(query, text, tokenizer)) > 0}
    if not relevance:
        return Coverage(missing=tuple(categories), missing_words=tuple(words))
    covered = tuple(name for name, cues in categories.items() if any(cues.matches(text) for text in relevance))
    mean = sum(relevance.values()) / len(relevance)
    confidence = min(1.0, 0.7 * mean + 0.3 * min(len(covered) / CATEGORIES, 1.0))
    have = {word for text in relevance for word in tokenizer.words(text)}
    return Coverage(
        confidence=confidence,
        status=coverage_status(confidence),
        covered=covered,
        missing=tuple(name for name in categories if name not in covered),
        missing_words=tuple(word for word in words if word not in have),
    )


def coverage_status(confidence: float) -> CoverageStatus:
    """Excellent from 0.8, good from 0.6, adequate from 0.4, insufficient below."""
    return next((status for least, status in _STATUS if confidence >= least), "insufficient")


def text_of(ranked: Ranked) -> str:
    """What a passage says, with the title and headings that it stands under."""
    passage = ranked.passage
    return "\n".join((passage.title, *passage.heading_path, passage.text))
