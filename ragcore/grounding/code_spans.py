"""Whether a place in growing Markdown is code, as far as what stands before it tells."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class CodeSpans:
    """Told the pieces of a text in order; back ticks that are never closed count as code until their paragraph ends.

    Good enough to leave code as it is written, not to decide what is safe: see `links.LinkGuard` for that.
    """

    _fence: str = ""  # the ticks that opened a code block
    _ticks: int = 0  # length of the ticks that opened code in a line
    _line_start: bool = True

    @property
    def inside(self) -> bool:
        return bool(self._fence or self._ticks)

    def ticks(self, run: str) -> None:
        """A run of back ticks or tildes: enter or leave code."""
        if self._fence:
            if self._line_start and run[0] == self._fence[0] and len(run) >= len(self._fence):
                self._fence = ""
        elif self._line_start and not self._ticks and len(run) >= 3:
            self._fence = run
        elif run[0] == "`":
            self._ticks = 0 if self._ticks == len(run) else self._ticks or len(run)
        self._line_start = False

    def newline(self) -> None:
        """A line end; an empty line ends the paragraph."""
        self._ticks = 0 if self._line_start else self._ticks
        self._line_start = True

    def text(self, piece: str) -> None:
        """Anything else."""
        self._line_start = self._line_start and not piece.strip()
