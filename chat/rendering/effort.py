"""Time and depth limits for rendering one text; a text beyond them is shown plain.

The limits are of the processor time of the thread that renders, so that a busy machine changes nothing. Between two
looks at the clock there is only what takes time in proportion to the text.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from chat.rendering.code import MAX_SECONDS as CODE_SECONDS

MAX_SECONDS = 2.0  # of one text; the longest answers take half of it
DECORATION_SECONDS = 0.6  # of them for formulas and the colours of code
MAX_LEVEL = 60  # of lists and quotes in each other; a list counts twice
LOOK_EVERY = 50  # steps of a parser


class TooMuchError(Exception):
    """The text takes too long, or has too many levels."""


@dataclass(slots=True)
class Effort:
    """What rendering one text has cost so far."""

    seconds: float = MAX_SECONDS
    decoration_seconds: float = DECORATION_SECONDS
    _until: float = field(init=False)
    _steps: int = 0

    def __post_init__(self) -> None:
        self._until = time.thread_time() + self.seconds

    def step(self) -> None:
        """One step of a parser. Raises TooMuchError when the time is over."""
        self._steps += 1
        if self._steps % LOOK_EVERY == 0:
            self.check()

    def check(self) -> None:
        """Raises TooMuchError when the time is over."""
        if time.thread_time() > self._until:
            raise TooMuchError

    def for_code(self) -> float:
        """Seconds for the colours of the next block of code."""
        return min(CODE_SECONDS, self.decoration_seconds)

    def decorate(self, make: Callable[[], str | None]) -> str | None:
        """What `make` returns; None without a call where the time for decorations is over."""
        if self.decoration_seconds <= 0:
            return None
        start = time.thread_time()
        try:
            return make()
        finally:
            self.decoration_seconds -= time.thread_time() - start


def limit_effort(parser: MarkdownIt) -> None:
    """Make a parser count its steps in `env["effort"]`, and refuse to go deeper than MAX_LEVEL.

    Without the second it would leave out what stands deeper than its own limit.
    """
    parser.options["maxNesting"] = 2 * MAX_LEVEL
    parser.inline.ruler.before("text", "effort", _inline)
    parser.block.ruler.before("table", "effort", _block, {"alt": []})


def _inline(state: StateInline, silent: bool) -> bool:
    if (effort := state.env.get("effort")) is not None:
        effort.step()
    return False


def _block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.level > MAX_LEVEL:
        raise TooMuchError
    if (effort := state.env.get("effort")) is not None:
        effort.step()
    return False
