"""One generator of several models: where one does not answer, the next one does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from copy import copy
from dataclasses import dataclass, replace
from time import monotonic

from ragcore.errors import ModelUnavailableError
from ragcore.llm.generators import EndEvent
from ragcore.llm.model_profile import ModelProfile, profile_of
from ragcore.llm.tiers import Tier, compute_cost
from ragcore.llm.usage import CostBudget, TooExpensiveError, UsageEntry, estimate_usage, total_cost, total_usage
from ragcore.model_limits import ModelLimits, limits_of
from ragcore.ports import GenerationEvent, GenerationRequest, LLMGenerator

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 15.0  # for the first words of a model behind which there is another one
REST_SECONDS = 30.0  # that a model which did not answer is asked last


@dataclass(frozen=True, slots=True, kw_only=True)
class TieredGenerator:
    """A generator with the tier of its model."""

    tier: Tier
    generator: LLMGenerator


class FallbackGenerator:
    """Implements ports.LLMGenerator over models in the order in which they are to be asked.

    A model that is unavailable, says nothing for `patience_seconds` (or its own limit to the first token) or ends
    without a word is passed over for the next one, and comes last for `rest_seconds`; the last one has all the time
    that it takes itself. Once a model has begun, with reasoning or text, it is the one. With `is_limited` an answer has
    at most the tokens of the model's tier. The final event is an EndEvent with the model and tier that wrote, and
    tokens and cost of all that were asked. Raises
    ModelUnavailableError where none writes.
    """

    def __init__(
        self,
        rungs: Sequence[TieredGenerator],
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
        self._purse: CostBudget | None = None
        self._absent: frozenset[str] = frozenset()

    @property
    def limits(self) -> ModelLimits:
        """Those of the most patient of the models that may be asked."""
        limits = [limits_of(rung.generator) for rung in self._rungs]
        return max(limits, key=lambda limits: limits.first_token_seconds or 0.0)

    @property
    def profile(self) -> ModelProfile:
        """Of the model that is asked first."""
        return profile_of(self._rungs[0].generator)

    @property
    def names(self) -> tuple[str, ...]:
        """All models that may be asked."""
        return tuple(rung.generator.name for rung in self._rungs if rung.generator.name not in self._absent)

    def without(self, names: Collection[str]) -> FallbackGenerator:
        """The same models for one answer but for those that have just not answered it.

        Raises ModelUnavailableError from `stream` where none is left.
        """
        reduced = copy(self)
        reduced._absent = frozenset(names)
        return reduced

    def within(self, purse: CostBudget) -> FallbackGenerator:
        """The same models for one answer: only those are asked that the budget affords, in any position.

        Raises TooExpensiveError from `stream` where it affords none.
        """
        limited = copy(self)  # who rests, rests for all answers
        limited._purse = purse
        return limited

    async def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """See ports.LLMGenerator."""
        spent: list[UsageEntry] = []
        order = self._order(request)
        for place, number in enumerate(order):
            rung, is_last = self._rungs[number], place == len(order) - 1
            if not self._affords(rung, request):  # after what others have used
                continue
            events = rung.generator.stream(self._limited(request, rung))
            try:
                first = await self._first(events, request, rung, is_last)
                if first is None or (not is_last and _is_empty(first)):
                    self._resting[number] = self._clock() + self._rest
                    spent += [self._paid(first, rung)] if first else []
                    continue
                self._resting.pop(number, None)
                yield self._with_usage(first, rung, spent)
                async for event in events:
                    yield self._with_usage(event, rung, spent)
                return
            finally:
                await closed(events)
        raise ModelUnavailableError if self._absent else TooExpensiveError

    def _limited(self, request: GenerationRequest, rung: TieredGenerator) -> GenerationRequest:
        limit = rung.tier.max_tokens if self._is_limited else request.max_tokens
        return replace(request, max_tokens=min(request.max_tokens, limit))

    def _order(self, request: GenerationRequest) -> list[int]:
        """Positions of the models to ask, of those that the budget affords now."""
        now = self._clock()
        numbers = [number for number, rung in enumerate(self._rungs) if self._affords(rung, request)]
        resting = [number for number, until in self._resting.items() if until > now and number in numbers]
        awake = [number for number in numbers if number not in resting]
        return [*awake, *sorted(resting)]

    def _affords(self, rung: TieredGenerator, request: GenerationRequest) -> bool:
        if rung.generator.name in self._absent:
            return False
        return self._purse is None or self._purse.affords(rung.tier, self._limited(request, rung))

    def _paid(self, event: GenerationEvent, rung: TieredGenerator) -> UsageEntry:
        """What a request that is over has used, taken from the budget."""
        if self._purse is not None:
            self._purse.pay(rung.tier, event.usage)
        cost = compute_cost(event.usage, rung.tier)
        return UsageEntry(purpose="writing", model=rung.generator.name, usage=event.usage, cost=cost)

    def _with_usage(
        self, event: GenerationEvent, rung: TieredGenerator, spent: Sequence[UsageEntry]
    ) -> GenerationEvent:
        """The event; a final one says who wrote, and counts what others have used."""
        if not event.final:
            return event
        every = [*spent, self._paid(event, rung)]
        return EndEvent(
            text=event.text,
            final=True,
            usage=total_usage(every),
            interrupted=event.interrupted,
            is_cut=isinstance(event, EndEvent) and event.is_cut,
            cause=event.cause if isinstance(event, EndEvent) else "",
            model=rung.generator.name,
            tier=rung.tier,
            cost=total_cost(every),
        )

    async def _first(
        self, events: AsyncIterator[GenerationEvent], request: GenerationRequest, rung: TieredGenerator, is_last: bool
    ) -> GenerationEvent | None:
        """The first event; None, or an empty final one with what it used, where another model is to be asked."""
        try:
            patience = limits_of(rung.generator).patience(self._patience)
            async with asyncio.timeout(None if is_last else patience):
                return await anext(events)
        except (ModelUnavailableError, TimeoutError) as problem:
            if is_last:
                raise
            logger.warning("%s does not answer, the next model is asked: %s", rung.tier.model, problem)
            if isinstance(problem, TimeoutError):  # its server works on it and may count it
                return GenerationEvent(final=True, usage=estimate_usage(request.messages, ""))
            return None


def _is_empty(event: GenerationEvent) -> bool:
    return event.final and not event.text


async def closed(events: AsyncIterator[GenerationEvent]) -> None:
    """Streams that are left in the middle give their connection back now and not when they are collected."""
    close = getattr(events, "aclose", None)
    if close is not None:
        await close()
