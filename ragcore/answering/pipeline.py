"""Stages of an answer and how they are run: AnswerState in, AnswerState out, every step timed and recorded (D29).

As in `ragcore.pipeline`, a stage is a frozen dataclass whose fields are its options, registered under a dotted name;
these may wait for models and searches. A stage that is `optional` and raises is recorded and skipped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, TypeVar

from ragcore.answering.types import AnswerState, Rewrite, SearchResult, Step, WrittenText
from ragcore.llm.cancellation import StoppedError, run_unless_stopped
from ragcore.llm.client import LlmClient
from ragcore.ports import Embedder, TokenCounter, Tokenizer
from ragcore.registry import Attempt, Registry, StageInfo
from ragcore.types import EMPTY, Source

T = TypeVar("T")


class Search(Protocol):
    """Searches within the rights and options that it was bound to."""

    async def __call__(self, query: str, rewrites: Sequence[Rewrite] = (), *, top_k: int | None = None) -> SearchResult:
        """Passages for the question and its other forms together, each passage once.

        Raises what the search raises: without it there is no answer.
        """
        ...


class Write(Protocol):
    """Writes an answer out of sight of the reader, for loops that compare several."""

    async def __call__(self, question: str, sources: Sequence[Source], *, critique: str = "") -> WrittenText:
        """`critique`: what was wrong with the answer before. Falls back to sentences of the sources."""
        ...


class Lexicon(Protocol):
    """What else a term is called: synonyms, and abbreviations with their full forms."""

    def alternatives(self, term: str) -> Sequence[str]:
        """Other names, the usual one first; () for an unknown term. Case does not matter."""
        ...


class Tell(Protocol):
    """Tells a reader what happens."""

    async def __call__(self, step: Step, /) -> None: ...


async def untold(step: Step, /) -> None:
    """For nobody who listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTools:
    """What stages may use, bound to one asker. `asker` and `judge` are None without a language model."""

    search: Search
    write: Write
    tokenizer: Tokenizer
    embedder: Embedder
    counter: TokenCounter
    asker: LlmClient | None = None
    judge: LlmClient | None = None  # of a model of its own, if one is configured (V10)
    lexicon: Lexicon | None = None
    tell: Tell = untold
    # context from passages: numbered sources within the token budget (V4)
    build: Callable[[AnswerState], Awaitable[AnswerState]] | None = None
    stop: asyncio.Event | None = None  # set by the reader: stages end with what they have
    extra: Mapping[str, Any] = field(default_factory=dict)


class AnswerStage(Protocol):
    """One step between question and text."""

    stage_name: ClassVar[str]
    optional: ClassVar[bool]
    hears_stop: ClassVar[bool]  # ends by itself with what it has; others are cancelled

    async def __call__(self, state: AnswerState, tools: AnswerTools) -> AnswerState: ...


_registry: Registry[AnswerStage] = Registry()


def answer_stage(
    name: str, *, label: str, optional: bool = True, hears_stop: bool = False, timing: str = ""
) -> Callable[[type[T]], type[T]]:
    """Register an answering stage with what it declares of itself; see StageInfo."""
    register = _registry.register(StageInfo(name=name, label=label, optional=optional, timing=timing))

    def add(cls: type[T]) -> type[T]:
        cls.hears_stop = hears_stop  # type: ignore[attr-defined]
        return register(cls)

    return add


def answer_stage_infos() -> Mapping[str, StageInfo]:
    """What the registered answering stages declare, by name."""
    return _registry.infos


def build_stages(steps: Iterable[tuple[str, Mapping[str, Any]]]) -> list[AnswerStage]:
    """Stages from names and options. Raises InvalidOptionsError for an unknown name or option."""
    return _registry.build(steps)


async def run_stages(stages: Sequence[AnswerStage], state: AnswerState, tools: AnswerTools) -> AnswerState:
    """Run all stages in order; once the reader has stopped the answer, no further one: what there is comes back."""
    for step in stages:
        if tools.stop is not None and tools.stop.is_set():
            break
        try:
            state = await run_answer_stage(step, state, tools)
        except StoppedError:
            break
    return state


async def run_answer_stage(step: AnswerStage, state: AnswerState, tools: AnswerTools) -> AnswerState:
    """Run one stage and append its record. Errors of an optional stage are recorded, others are raised.

    A stage that the reader has stopped counts as one with the error "stopped".
    """
    after = state
    with Attempt(step) as attempt:
        after = await run_unless_stopped(None if step.hears_stop else tools.stop, _run(step, state, tools))
    note = after.stats.get(step.stage_name, EMPTY)
    record = attempt.record(before=len(state.passages), after=len(after.passages), note=note)
    return replace(after, records=(*after.records, record))


async def _run(step: AnswerStage, state: AnswerState, tools: AnswerTools) -> AnswerState:
    return await step(state, tools)
