"""A model that nobody waits for any more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from ragcore.errors import ModelUnavailableError
from ragcore.ports import GenerationEvent, GenerationRequest


@dataclass(slots=True, kw_only=True)
class AbsentGenerator:
    """Implements ports.LLMGenerator for a model that has just not answered: raises ModelUnavailableError at once."""

    name: str

    async def stream(self, request: GenerationRequest) -> AsyncIterator[GenerationEvent]:
        """See ports.LLMGenerator."""
        del request
        raise ModelUnavailableError(model=self.name)
        yield GenerationEvent()  # makes it a generator
