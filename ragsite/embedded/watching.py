"""Starting a crashed child again, more slowly each time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ragsite.embedded.processes import Process

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0
STEADY_SECONDS = 60.0  # a child that ran this long is healthy again
FAILURES_AT_START = 3


@dataclass
class Watched:
    """A child, how to start it, and how often it has failed of late."""

    process: Process
    start: Callable[[], None]
    say: Callable[[str], None]
    now: Callable[[], float] = time.monotonic
    failures: int = field(default=0, init=False)
    _started_at: float = field(default=0.0, init=False)
    _due_at: float | None = field(default=None, init=False)  # when a stopped child is started again

    def begin(self) -> None:
        """Start it for the first time or again."""
        self._due_at, self._started_at = None, self.now()
        self.start()

    def tend(self) -> None:
        """Notice a crash, say so, and start it again when its pause is over. Returns at once."""
        if self._due_at is not None:
            if self.now() >= self._due_at:
                self.begin()
        elif not self.process.is_running():
            self._note_crash()

    def _note_crash(self) -> None:
        if self.now() - self._started_at >= STEADY_SECONDS:
            self.failures = 0
        pause = min(FIRST_PAUSE_SECONDS * 2**self.failures, LONGEST_PAUSE_SECONDS)
        self.failures += 1
        self._due_at = self.now() + pause
        self.say(
            f"{self.process.name} {how_it_ended(self.process.exit_code())}; it is started again in {pause:g} s. "
            f"The end of {self.process.log}:\n{indented(self.process.log_tail())}"
        )


def how_it_ended(exit_code: int | None) -> str:
    """An exit code in words."""
    if exit_code is None:
        return "is gone"
    return f"was ended by signal {-exit_code}" if exit_code < 0 else f"ended with code {exit_code}"


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
