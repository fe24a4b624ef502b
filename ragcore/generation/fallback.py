"""One generator of several models: where one does not answer, the next one does (U10)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic

from ragcore.errors import ModelUnavailableError
from ragcore.generation.events import EndEvent
from ragcore.generation.tiers import Tier
from ragcore.ports import GenerationEvent, GenerationRequest, LLMGenerator
from ragcore.types import Usage

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 15.0  # for the first words of a model behind which there is another one
REST_SECONDS = 30.0  # that a model which did not answer is asked last


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """A model of the ladder."""

    tier: Tier
    generator: LLMGenerator


class FallbackGenerator:
    """Implements ports.LLMGenerator over models in the order in which they are to be asked.

    A model that is unavailable, says nothing for `patience_seconds` or ends without a word is passed over for the next
    one, and comes last for `rest_seconds`; the last one has all the time that it takes itself. Once a model has begun,
    it is the one. With `is_limited` an answer has at most the tokens of the model's tier. The final event is an
    EndEvent with the model and tier that wrote. Raises ModelUnavailableError where none writes.
    """

    def __init__(
        self,
        rungs: Sequence[Rung],
        *,
        is_limited: bool = True,
        patience_seconds: float = PATIENCE_SECONDS,
        rest_seconds: float = REST_SECONDS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        if not rungs:
            raise ValueError("there is no model to ask")
        self.name = rungs[0].generator.name
        self._rungs = tuple(rungs)
        self._is_limited = is_limited
        self._patience = patience_seconds
        self._rest = rest_seconds
        self._clock = clock
        self._resting: dict[int, float] = {}  # position of a model -> until when

    async def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """See ports.LLMGenerator."""
        spent = Usage()
        order = self._order()
        for place, number in enumerate(order):
            rung, is_last = self._rungs[number], place == len(order) - 1
            events = rung.generator.stream(self._limited(request, rung))
            try:
                first = await self._first(events, rung, is_last)
                if first is None or (not is_last and _is_empty(first)):
                    self._resting[number] = self._clock() + self._rest
                    spent += first.usage if first else Usage()
                    continue
                self._resting.pop(number, None)
                yield _told(first, rung, spent)
                async for event in events:
                    yield _told(event, rung, spent)
                return
            finally:
                await _closed(events)

    def _limited(self, request: GenerationRequest, rung: Rung) -> GenerationRequest:
        limit = rung.tier.max_tokens if self._is_limited else request.max_tokens
        return replace(request, max_tokens=min(request.max_tokens, limit))

    def _order(self) -> list[int]:
        now = self._clock()
        resting = [number for number, until in self._resting.items() if until > now]
        awake = [number for number in range(len(self._rungs)) if number not in resting]
        return [*awake, *sorted(resting)]

    async def _first(self, events: AsyncIterator[GenerationEvent], rung: Rung, is_last: bool) -> GenerationEvent | None:
        """The first event; None where another model is to be asked instead."""
        try:
            async with asyncio.timeout(None if is_last else self._patience):
                return await anext(events)
        except (ModelUnavailableError, TimeoutError) as problem:
            if is_last:
                raise
            logger.warning("%s does not answer, the next model is asked: %s", rung.tier.model, problem)
            return None


def _is_empty(event: GenerationEvent) -> bool:
    return event.final and not event.text


def _told(event: GenerationEvent, rung: Rung, spent: Usage) -> GenerationEvent:
    """The event; a final one says who wrote, and counts what others have used."""
    if not event.final:
        return event
    return EndEvent(
        text=event.text,
        final=True,
        usage=event.usage + spent,
        interrupted=event.interrupted,
        is_cut=isinstance(event, EndEvent) and event.is_cut,
        model=rung.generator.name,
        tier=rung.tier,
    )


async def _closed(events: AsyncIterator[GenerationEvent]) -> None:
    """Streams that are left in the middle give their connection back now and not when they are collected."""
    close = getattr(events, "aclose", None)
    if close is not None:
        await close()
