"""Answers, their citations and how well they are supported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ragcore.types.retrieval import Passage

Support = Literal["supported", "weak", "unsupported"]
AnswerStatus = Literal["answered", "refused", "search_results", "degraded", "conversation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that models were sent and returned."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A numbered passage as the answerer was shown it."""

    number: int  # 1-based; what `[n]` in the answer points to
    passage: Passage
    text: str  # what stood in the context, perhaps truncated
    score: float  # the ranking's score scaled to 0..1, higher is better


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A source that the answer points to (V7)."""

    number: int
    source: Source
    confidence: float  # 0 to 1
    weak: bool  # confidence below the threshold
    position: int  # character offset of the first marker in the answer
    segment: str  # the sentence that carries the first marker
    frequency: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of the answer with how well the sources support it (B4)."""

    text: str
    support: Support
    citations: tuple[int, ...] = ()
    reason: str | None = None  # in English
    risk: str | None = None
    reason_data: Mapping[str, str | int] | None = None  # to translate a reason whose text changes from case to case


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A finished answer. `text` is Markdown with `[n]` markers; errors never travel in it."""

    text: str
    status: AnswerStatus
    confidence: float = 0.0  # 0 to 1
    citations: tuple[Citation, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    sources: tuple[Source, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
