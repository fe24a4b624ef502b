"""How long a model thinks before it writes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ragcore.ports import GenerationEvent


@dataclass(slots=True)
class ThinkingTime:
    """Feed the events of requests as they come, one request after the other.

    A request thinks from its first reasoning to its first text, or to its end.
    """

    clock: Callable[[], float] = time.monotonic
    _before: float = 0.0  # seconds of what is over
    _since: float | None = field(default=None, init=False)

    @property
    def is_under_way(self) -> bool:
        """Whether the last event was a part of the reasoning."""
        return self._since is not None

    @property
    def seconds(self) -> float:
        """Of all reasoning so far."""
        return self._before + (self.clock() - self._since if self._since is not None else 0.0)

    def note(self, event: GenerationEvent) -> None:
        """Take the next event."""
        if event.reasoning and self._since is None:
            self._since = self.clock()
        if event.text or event.final:
            self.stop()

    def stop(self) -> None:
        """The request is over, in whatever way."""
        self._before, self._since = self.seconds, None
