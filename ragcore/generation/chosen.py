"""A generator with the reasons why it is the one (U10)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from ragcore.generation.metering import TooExpensiveError
from ragcore.generation.tiers import Choice
from ragcore.ports import GenerationEvent, GenerationRequest, LLMGenerator


@dataclass(slots=True, kw_only=True)
class ChosenGenerator:
    """Implements ports.LLMGenerator: writes as `generator` does.

    Raises TooExpensiveError where no tier is within the limit of cost, so that the caller marks what it does instead.
    """

    generator: LLMGenerator
    choice: Choice
    name: str = field(init=False)  # of the model that is asked first

    def __post_init__(self) -> None:
        self.name = self.generator.name

    async def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """See ports.LLMGenerator."""
        if self.choice.tier is None:
            raise TooExpensiveError
        async for event in self.generator.stream(request):
            yield event
