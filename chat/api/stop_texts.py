"""Texts at which a client wants an answer to end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class StopTexts:
    """Passes a text on, up to the first of `stops`; what may be the beginning of one is held back."""

    stops: Sequence[str]
    is_reached: bool = False
    _pending: str = ""

    def feed(self, text: str) -> str:
        """What may be passed on of the text so far and was not before."""
        if self.is_reached:
            return ""
        self._pending += text
        places = [at for at in map(self._pending.find, self.stops) if at >= 0]
        if places:
            self.is_reached = True
            output, self._pending = self._pending[: min(places)], ""
            return output
        end = len(self._pending) - self._held()
        output, self._pending = self._pending[:end], self._pending[end:]
        return output

    def flush(self) -> str:
        """What was held back, at the end of the text."""
        rest, self._pending = self._pending, ""
        return rest

    def whole(self, text: str) -> str:
        """A whole text up to the first of them."""
        return self.feed(text) + self.flush()

    def _held(self) -> int:
        """Characters at the end that a stop may begin with."""
        most = min(max(map(len, self.stops), default=0) - 1, len(self._pending))
        return next((n for n in range(most, 0, -1) if any(s.startswith(self._pending[-n:]) for s in self.stops)), 0)
