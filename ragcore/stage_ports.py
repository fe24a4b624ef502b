"""What stages of an answer may use, as typed ports bound to one user."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ragcore.llm.client import LlmClient
from ragcore.ports import Embedder, TokenCounter, Tokenizer
from ragcore.types import Passage, Source
from ragcore.types.answering import AnswerState, Ranked, Rewrite, SearchResult, Step, WrittenText

CompressionKey = tuple[str, str, float, int, str]  # question, method, ratio, chunk, text


class SearchPort(Protocol):
    """Searches within the rights and options that it was bound to."""

    async def __call__(self, query: str, rewrites: Sequence[Rewrite] = (), *, top_k: int | None = None) -> SearchResult:
        """Passages for the question and its other forms together, each passage once.

        Raises what the search raises: without it there is no answer.
        """
        ...


class WritePort(Protocol):
    """Writes an answer that the reader does not see yet, for loops that compare several."""

    async def __call__(self, question: str, sources: Sequence[Source], *, critique: str = "") -> WrittenText:
        """`critique`: what was wrong with the answer before. Falls back to sentences of the sources."""
        ...


class LoadSections(Protocol):
    """Loads the sections that passages stand in."""

    async def __call__(self, chunks: Sequence[int], *, max_tokens: int) -> Sequence[tuple[Passage, ...]]:
        """Sections in reading order, as `ragcore.ports.PassageStore.siblings`."""
        ...


class Lexicon(Protocol):
    """What else a term is called: synonyms, and abbreviations with their full forms."""

    def alternatives(self, term: str) -> Sequence[str]:
        """Other names, the usual one first; () for an unknown term. Case does not matter."""
        ...


class ReportStep(Protocol):
    """Reports a step to the reader."""

    async def __call__(self, step: Step, /) -> None: ...


async def ignore_step(step: Step, /) -> None:
    """A `ReportStep` for answers without a reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePorts:
    """What stages may use, bound to one user.

    `llm` and `judge` are None without a language model. Of the optional ports, None means: the stage does without it.
    """

    search: SearchPort
    write: WritePort
    tokenizer: Tokenizer
    embedder: Embedder
    counter: TokenCounter
    llm: LlmClient | None = None
    judge: LlmClient | None = None  # a model of its own, if one is configured
    lexicon: Lexicon | None = None
    vocabulary: Callable[[], Sequence[str]] | None = None  # names of the terms of the lexicons
    report: ReportStep = ignore_step
    build_context: Callable[[AnswerState], Awaitable[AnswerState]] | None = None  # numbers the sources
    load_sections: LoadSections | None = None  # None: passages stay as they are
    cost_so_far: Callable[[], float] | None = None  # of this answer, in the currency of the price table
    seconds_left: Callable[[], float] | None = None  # before the final text must be written
    stop: asyncio.Event | None = None  # set by the reader: stages end with what they have
    compressed: dict[CompressionKey, Ranked] = field(default_factory=dict)  # passages shortened in earlier iterations
