"""A generated text as a whole, for those who do not show it while it grows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from ragcore.ports import GenerationEvent
from ragcore.types import Usage


@dataclass(frozen=True, slots=True)
class Whole:
    """What a stream of events brought."""

    text: str
    usage: Usage
    interrupted: bool  # the server closed the stream before the end


async def whole(events: AsyncIterator[GenerationEvent]) -> Whole:
    """All events of one request, read to the end. Raises what the generator raises."""
    parts: list[str] = []
    usage, interrupted = Usage(), False
    async for event in events:
        parts.append(event.text)
        if event.final:
            usage, interrupted = event.usage, event.interrupted
    return Whole("".join(parts), usage, interrupted)
