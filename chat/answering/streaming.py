"""Streams a generator's text to the reader, and recovers where the generator fails."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial

from django.utils.translation import gettext as _

from chat import metrics
from chat.answering.context import WRITING_SECONDS
from chat.answering.model_routing import routing_decision, usage_entry
from chat.answering.progress import step_event, tier_step
from chat.answering.shortcomings import cut_message, degraded_message, incomplete_message
from chat.concurrency.executors import run_cpu
from chat.concurrency.fair_queue import fair_queue
from chat.rendering.text_emitter import TextEmitter
from chat.rendering.thinking import ThinkingReporter
from chat.types import EventSink
from knowledge import model_registry
from ragcore.errors import ModelUnavailableError
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.grounding.trusted_writing import TrustedWriting
from ragcore.llm.client import StoppedError, run_unless_stopped
from ragcore.llm.generators import ContinuationJoiner, EndEvent, RestartedError
from ragcore.llm.model_profile import profile_of
from ragcore.llm.usage import MeteredStream, TooExpensiveError, UsageEntry, estimate_usage, total_cost, total_usage
from ragcore.ports import ChatMessage, GenerationEvent, GenerationRequest, LLMGenerator
from ragcore.prompts import load
from ragcore.prompts.languages import language_name
from ragcore.text.scripts import is_other_language
from ragcore.types import Usage
from ragcore.types.answering import WrittenText

logger = logging.getLogger(__name__)

AGAIN_SECONDS = 15.0  # for the first token of a second attempt, within what the first one has left
LONG_READING_SECONDS = 3.0  # of a prompt, from which the reader is told of it
LEAST_SECONDS = 2.0  # below it a second attempt is not worth its tokens
OTHER_LANGUAGE = "other_language"
DOUBTED = "doubted"  # code of a note: by the language model, what is quoted does not state the answer
QUOTED_INSTEAD = "quoted_instead"  # code of a note: a model was asked, and its text was not shown
OUT_OF_TIME = ("stalled", "late")  # causes of interruptions after which nobody waits for the rest


@dataclass(slots=True, kw_only=True)
class Draft:
    """What was written, before it is checked against its sources."""

    text: str = ""
    model: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    first_words_seconds: float | None = None
    thinking_seconds: float | None = None  # a part of `seconds`; None: no model thought
    degraded: str | None = None  # why it is no whole answer of a model, in words for the reader
    stopped: bool = False
    is_cut: bool = False  # at its limit of tokens
    tier: str = ""  # of the model; "" where models have none
    cost: float | None = None  # in the currency of the price table; None where a price is not known
    spent: list[UsageEntry] = field(default_factory=list)  # the same by request
    is_fallback: bool = False  # put together from the sources because a model failed
    choice: tuple[str, ...] = ()  # codes, why this tier; () where there was nothing to choose
    warnings: tuple[str, ...] = ()  # codes: "other_language"
    numbering: Mapping[int, int] = field(default_factory=dict)  # number of a source -> the one in the text


def draft_from_loop(loop_text: WrittenText, text: str, numbering: Mapping[int, int]) -> Draft:
    """The draft of a text that a loop has chosen, as it was shown. Its tokens are counted with the loop."""
    return Draft(
        text=text,
        numbering=numbering,
        model=loop_text.model,
        usage=loop_text.usage,
        tier=loop_text.tier,
        choice=loop_text.choice,
        degraded=_shortcoming(loop_text),
        is_cut=loop_text.is_cut,
        is_fallback=loop_text.is_degraded and loop_text.reason != TooExpensiveError.code,
    )


def _shortcoming(loop_text: WrittenText) -> str | None:
    if loop_text.is_degraded:
        return degraded_message(loop_text.reason)
    return cut_message() if loop_text.is_cut else None


@dataclass(slots=True, kw_only=True)
class AnswerWriter:
    """Writes one answer, and recovers where the model fails.

    `stop`: set by the reader; `refusal`: the text where the sources do not answer; `generator`: None for the configured
    one; `trust`: how far its text is trusted. `streamed`: with False the text is emitted once it is whole, so that an
    answer in a wrong language can be asked for again. `seconds`: until the first token, those of a second attempt
    included. Then the model's own limits hold.
    """

    request: GenerationRequest
    output: TextEmitter
    events: EventSink
    stop: asyncio.Event
    refusal: str
    strict: bool = False
    generator: LLMGenerator | None = None
    trust: TrustedWriting | None = None  # None: the model's text is shown as it comes
    streamed: bool = True
    seconds: float = WRITING_SECONDS
    draft: Draft = field(default_factory=Draft)
    _pieces: list[str] = field(default_factory=list)  # as they were written
    _shown: int = 0  # how many of them went to the output
    _interrupted: bool = False
    _cause: str = ""  # of the interruption
    _waited: float = 0.0  # seconds for first tokens
    _is_quoted: bool = False  # the model's text was of no use, and the sources are quoted instead
    _is_cut: bool = False
    _requests: list[tuple[LLMGenerator, MeteredStream]] = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter)
    _thinking: ThinkingReporter = field(init=False)

    def __post_init__(self) -> None:
        self._thinking = ThinkingReporter(events=self.events)

    async def run(self) -> Draft:
        """The draft; degraded where the model failed. Raises ModelUnavailableError if the client is strict."""
        self._start = time.perf_counter()
        try:
            await run_unless_stopped(self.stop, self._write())
        except StoppedError:
            self.draft.stopped = True
            if self.trust is not None and (pending := self.trust.pending()):
                self._pieces.append(pending)
        await self._show()
        self.draft.text = (await self.output.finish()).strip()
        self.draft.numbering = self.output.numbering
        self.draft.seconds, self.draft.thinking_seconds = time.perf_counter() - self._start, self._thinking.seconds
        self._sum_usage()
        return self.draft

    async def _write(self) -> None:
        generator = self.generator if self.generator is not None else await run_cpu(model_registry.generator)
        if isinstance(generator, ExtractiveGenerator):
            await self._quote_sources()
            return
        if choice := routing_decision(generator):
            self.draft.choice = choice.reasons
            await self.events("step", **step_event(tier_step(choice.reasons, choice.tier.name if choice.tier else "")))
        try:
            self.draft.model = generator.name
            await self._write_with_model(generator)
        except ModelUnavailableError as error:
            await self._fall_back(error)

    async def _write_with_model(self, generator: LLMGenerator) -> None:
        with fair_queue().reading():
            async for event in self._limit_events(self._trusted(generator)):
                await self._take_event(event)
        if self.trust is not None and self.trust.is_doubted:
            self.draft.warnings = (*self.draft.warnings, DOUBTED)
        if self._is_quoted:
            await self._note_quotation()
            return
        if self._interrupted and self._cause not in OUT_OF_TIME and self._text.strip() and not self.strict:
            await self._continue_text(generator)
        if self._interrupted:
            raise ModelUnavailableError("cut")
        if not self._text.strip():
            raise ModelUnavailableError("empty_answer")
        if is_other_language(self.request.question, self._text):
            await self._retry_in_language(generator)
        if self._is_cut:
            self.draft.degraded, self.draft.is_cut = cut_message(), True
            await self.events("step", name="interrupted", detail=self.draft.degraded)

    def _trusted(self, generator: LLMGenerator) -> AsyncIterator[GenerationEvent]:
        """The events of the text, as far as the model is trusted."""
        if self.trust is None:
            return self._read(generator, self.request)
        return self.trust.stream(self.request, partial(self._announced, generator))

    async def _announced(
        self, generator: LLMGenerator, request: GenerationRequest
    ) -> AsyncGenerator[GenerationEvent, None]:
        """The events of a request; before them, for a slow reader among the models, how long it will read."""
        tokens = estimate_usage(request.messages, "").prompt_tokens
        seconds = profile_of(generator).reading_seconds(tokens)
        if seconds is not None and seconds >= LONG_READING_SECONDS:
            detail = _("The language model is reading the passages, about %(seconds)d s") % {"seconds": round(seconds)}
            await self.events("step", name="read", detail=detail)
        async with aclosing(self._read(generator, request)) as events:
            async for event in events:
                yield event

    async def _note_quotation(self) -> None:
        """Say that the sources are quoted where a model was asked; the refusal where nothing can be quoted."""
        self.draft.model, self.draft.tier = ExtractiveGenerator.name, ""
        self.draft.warnings = (*self.draft.warnings, QUOTED_INSTEAD)
        await self.events("step", name="quote", detail=_("The documents are quoted"))
        if not self._text.strip():
            await self._add_text(self.refusal)

    # ── what comes from a model ─────────────────────────────────────────────────────────────────

    @property
    def _text(self) -> str:
        """What counts as written: to a reader who reads along, only what can be seen."""
        return self.output.text if self.streamed else "".join(self._pieces)

    async def _take_event(self, event: GenerationEvent) -> None:
        if event.text:
            if self.draft.first_words_seconds is None:
                self.draft.first_words_seconds = time.perf_counter() - self._start
                metrics.FIRST_TOKEN_SECONDS.observe(self.draft.first_words_seconds)
            await self._add_text(event.text)
        if event.final:
            self._note_end(event)

    async def _add_text(self, text: str) -> None:
        self._pieces.append(text)
        if self.streamed:
            await self._show()

    async def _show(self) -> None:
        while self._shown < len(self._pieces):
            self._shown += 1
            await self.output.write(self._pieces[self._shown - 1])

    def _note_end(self, event: GenerationEvent) -> None:
        """What became of the request that is read."""
        self._interrupted = event.interrupted
        if isinstance(event, EndEvent):
            self._is_cut, self._cause, self._is_quoted = event.is_cut, event.cause, event.is_quoted
            self.draft.model = event.model or self.draft.model
            self.draft.tier = event.tier.name if event.tier is not None else self.draft.tier

    def _read(self, generator: LLMGenerator, request: GenerationRequest) -> AsyncGenerator[GenerationEvent, None]:
        """The events of a request, which is counted however it ends."""
        reading = MeteredStream(request.messages)
        self._requests.append((generator, reading))
        return self._thinking.of(reading.of(generator.stream(request)))

    async def _limit_events(self, events: AsyncIterator[GenerationEvent]) -> AsyncIterator[GenerationEvent]:
        """The events, the first of them within the time limit: a model that says nothing until then is slow."""
        async for event in self._begun_within(events, self.seconds):
            yield event
            if event.text and self.streamed and (pause := fair_queue().pause_seconds()):
                await asyncio.sleep(pause)

    async def _begun_within(
        self, events: AsyncIterator[GenerationEvent], seconds: float
    ) -> AsyncIterator[GenerationEvent]:
        """The events. Raises ModelUnavailableError where the first one does not come in time."""
        start = time.perf_counter()
        try:
            async with asyncio.timeout(seconds):
                event = await anext(events, None)
        except TimeoutError:
            logger.warning("the time for the first token is over")
            raise ModelUnavailableError("slow", seconds=f"{seconds:g}") from None
        finally:
            self._waited += time.perf_counter() - start
        while event is not None:
            yield event
            event = await anext(events, None)

    def _sum_usage(self) -> None:
        """Several requests of one answer add up."""
        draft = self.draft
        draft.spent = [usage_entry(generator, reading) for generator, reading in self._requests]
        draft.usage = total_usage(draft.spent)
        cost = total_cost(draft.spent)
        draft.cost = None if cost is None else float(cost)

    # ── second attempts ─────────────────────────────────────────────────────────────────────────

    async def _continue_text(self, generator: LLMGenerator) -> None:
        """Ask once for the rest of an answer that broke off, of the same model or the one behind it."""
        partial_answer = "".join(self._pieces)
        joint = ContinuationJoiner(before=partial_answer)
        await self.events("step", name="continue", detail=_("The language model stopped; requesting the rest."))
        try:
            async for event in self._ask_again(generator, partial_answer, load("continue_answer").render()):
                if rest := joint.feed(event.text):
                    await self._add_text(rest)
                if event.final:
                    self._note_end(event)
            if rest := joint.flush():
                await self._add_text(rest)
        except (ModelUnavailableError, RestartedError) as problem:
            self._interrupted = True
            logger.warning("the rest of the answer did not come: %s", type(problem).__name__)

    async def _retry_in_language(self, generator: LLMGenerator) -> None:
        """Note the wrong language, or where nothing was shown yet ask once for the right one."""
        first, is_cut = list(self._pieces), self._is_cut
        if not self.streamed:
            self._pieces = await self._rewrite_in_language(generator, "".join(first))
            if (
                self._text.strip()
                and not self._interrupted
                and not is_other_language(self.request.question, self._text)
            ):
                return
        self._pieces, self._is_cut, self._interrupted = first, is_cut, False
        self.draft.warnings = (*self.draft.warnings, OTHER_LANGUAGE)

    async def _rewrite_in_language(self, generator: LLMGenerator, text: str) -> list[str]:
        """The pieces of the same answer in the language of the question."""
        language = language_name(self.request.language)
        pieces: list[str] = []
        try:
            async for event in self._ask_again(generator, text, load("answer_language").render(language=language)):
                pieces.append(event.text)
                if event.final:
                    self._note_end(event)
        except ModelUnavailableError as problem:
            self._interrupted = True
            logger.warning("the answer was not written again: %s", type(problem).__name__)
        return pieces

    async def _ask_again(self, generator: LLMGenerator, answer: str, prompt: str) -> AsyncIterator[GenerationEvent]:
        """What the generator says to a prompt behind its own answer.

        It has to begin within what is left of the time for the first token. Raises ModelUnavailableError.
        """
        turns = (ChatMessage(role="assistant", content=answer), ChatMessage(role="user", content=prompt))
        seconds = min(AGAIN_SECONDS, self.seconds - self._waited)
        if seconds < LEAST_SECONDS:
            raise ModelUnavailableError("slow", seconds=f"{self.seconds:g}")
        events = self._read(generator, replace(self.request, messages=(*self.request.messages, *turns)))
        async for event in self._begun_within(events, seconds):
            yield event

    # ── without a model ─────────────────────────────────────────────────────────────────────────

    async def _fall_back(self, error: ModelUnavailableError) -> None:
        """Text that has begun is kept and marked as incomplete; otherwise the sources speak for themselves."""
        if self.strict:
            raise ModelUnavailableError(error.reason, **{**error.data, "strict": True}) from error
        logger.warning("answering without the language model: %s", error)
        if self._text.strip():
            self.draft.degraded = incomplete_message(self._cause)
            await self.events("step", name="interrupted", detail=self.draft.degraded)
            return
        self.draft.degraded = degraded_message(error.reason or error.code, error.data.get("status"))
        self.draft.is_fallback = error.code != TooExpensiveError.code
        await self.events("step", name="degraded", detail=self.draft.degraded)
        await self._quote_sources()

    async def _quote_sources(self) -> None:
        """Sentences of the sources; the refusal where none of them fits."""
        generator = model_registry.extractive_generator()
        self.draft.model, self.draft.tier = generator.name, ""
        async for event in generator.stream(self.request):
            await self._take_event(event)
        if not self._text.strip():
            await self._add_text(self.refusal)
