"""How long an answer may take, and which models nobody waits for any more (V6, V13)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

ANSWER_SECONDS = 55.0  # from the request to the written text; with checking and storing 60 are not passed (V6)
RESERVE_SECONDS = 10.0  # of them for the last search and the text, whatever comes before
SILENT_SECONDS = 10.0  # without a word; a model that takes longer is not waited for again


@dataclass(slots=True, kw_only=True)
class Patience:
    """The time of one answer, shared by everything that waits for a model.

    `unreachable`: models by name that did not answer one who wrote. Whoever reads along waits so long for the first
    word; a text that has begun may grow.
    """

    seconds: float = ANSWER_SECONDS
    clock: Callable[[], float] = time.monotonic
    unreachable: set[str] = field(default_factory=set)
    _until: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._until = self.clock() + self.seconds

    def left(self) -> float:
        """Seconds until the text must be there, never below 0."""
        return max(0.0, self._until - self.clock())

    def left_before_writing(self) -> float:
        """Seconds for all that helps an answer and is not its text, never below 0."""
        return max(0.0, self.left() - RESERVE_SECONDS)
