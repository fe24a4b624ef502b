"""Tells the reader what a model thinks before it writes: a part of the turn under way, and of nothing that stays."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

from chat.types import EventSink
from ragcore.llm.thinking_time import ThinkingTime
from ragcore.ports import GenerationEvent


@dataclass(slots=True, kw_only=True)
class ThinkingReporter:
    """Sends `thought` events for the reasoning of one answer; its text goes nowhere else.

    Each has the text that is new and the `seconds` of thinking so far; the last one before text says `is_over`.
    """

    events: EventSink
    time: ThinkingTime = field(default_factory=ThinkingTime)
    _has_begun: bool = False

    @property
    def seconds(self) -> float | None:
        """How long the model thought; None: it did not."""
        return self.time.seconds if self._has_begun else None

    async def of(self, events: AsyncGenerator[GenerationEvent, None]) -> AsyncGenerator[GenerationEvent, None]:
        """Passes the events of a request on. Raises what they raise."""
        try:
            async with aclosing(events):
                async for event in events:
                    await self._note(event)
                    yield event
        finally:
            self.time.stop()

    async def _note(self, event: GenerationEvent) -> None:
        was_under_way = self.time.is_under_way
        self.time.note(event)
        if not event.reasoning and not was_under_way:
            return
        if not self._has_begun:
            self._has_begun = True
            await self.events("step", name="think", detail=_("The language model is thinking"))
        seconds, is_over = round(self.time.seconds, 1), not self.time.is_under_way
        await self.events("thought", content=event.reasoning, seconds=seconds, is_over=is_over)
