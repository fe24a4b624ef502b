"""Answer generators over one chat model: plain, unavailable and routed; the final event; collecting a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from decimal import Decimal

from ragcore.errors import ModelUnavailableError
from ragcore.llm.tiers import RoutingDecision, Tier
from ragcore.llm.usage import TooExpensiveError
from ragcore.ports import ChatModel, GenerationEvent, GenerationRequest, LLMGenerator
from ragcore.types import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class EndEvent(GenerationEvent):
    """A final event that says more: who wrote, what it cost, and whether the answer ended at its length limit."""

    is_cut: bool = False  # by max_tokens; a text that is cut there is no failure, and no whole answer either
    model: str = ""  # that wrote; "" where only one could
    tier: Tier | None = None
    cost: Decimal | None = None  # of all that was asked, in the currency of the price table; None: not known


class LLMAnswerGenerator:
    """Implements ports.LLMGenerator: passes the rendered prompt to a chat model."""

    def __init__(self, chat: ChatModel) -> None:
        self.chat = chat
        self.name = chat.name

    def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """See ports.LLMGenerator."""
        return self.chat.stream(request.messages, temperature=request.temperature, max_tokens=request.max_tokens)


@dataclass(slots=True, kw_only=True)
class UnavailableGenerator:
    """Implements ports.LLMGenerator for a model that has just not answered: raises ModelUnavailableError at once."""

    name: str

    async def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """See ports.LLMGenerator."""
        del request
        raise ModelUnavailableError(model=self.name)
        yield GenerationEvent()  # makes it a generator


@dataclass(slots=True, kw_only=True)
class RoutedGenerator:
    """Implements ports.LLMGenerator: writes as `generator` does.

    Raises TooExpensiveError where no tier is within the limit of cost, so that the caller marks what it does instead.
    """

    generator: LLMGenerator
    choice: RoutingDecision
    name: str = field(init=False)  # of the model that is asked first

    def __post_init__(self) -> None:
        self.name = self.generator.name

    async def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """See ports.LLMGenerator."""
        if self.choice.tier is None:
            raise TooExpensiveError
        async for event in self.generator.stream(request):
            yield event


@dataclass(frozen=True, slots=True)
class CollectedText:
    """What a stream of events brought."""

    text: str
    usage: Usage
    interrupted: bool  # the server closed the stream before the end


async def collect(events: AsyncIterator[GenerationEvent]) -> CollectedText:
    """All events of one request, read to the end. Raises what the generator raises."""
    parts: list[str] = []
    usage, interrupted = Usage(), False
    async for event in events:
        parts.append(event.text)
        if event.final:
            usage, interrupted = event.usage, event.interrupted
    return CollectedText("".join(parts), usage, interrupted)
