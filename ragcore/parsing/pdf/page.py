"""What stands on a page: runs of text, and tables and pictures that are placed among them. Independent of pdfium."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from ragcore.types import Box

APART_GAP = 0.7  # the same between two lines of a recogniser
GAP = 1.3  # font sizes between two characters from which they belong to different columns or cells
CJK = "\u2e80"  # from here on characters are written without spaces between words

Gap = tuple[int, float, float]  # a space inside a run: its index in the text, and from where to where it is white


@dataclass(frozen=True, slots=True)
class Insert:
    """A table or picture that was found by its drawing; it travels through the layout as one run."""

    kind: Literal["table", "image"]
    text: str  # Markdown
    x0: float
    y0: float
    x1: float
    y1: float

    def as_run(self) -> Run:
        """A run at its upper edge, as wide as it is, so that columns are told by it and nothing stands beside it."""
        height = min(self.y1 - self.y0, 8.0)
        said = " ".join(self.text.split())  # the whole text: a table is furniture only if all of it repeats
        return Run(said, self.x0, self.y0, self.x1, self.y0 + height, height, insert=self)


@dataclass(frozen=True, slots=True)
class Run:
    """Text with its box in points from the top left corner of the upright page."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float  # font size in points, as shown
    bold: bool = False
    gaps: tuple[Gap, ...] = ()
    insert: Insert | None = None
    apart: bool = False  # a recogniser has already joined what belongs together

    @property
    def middle(self) -> float:
        return (self.y0 + self.y1) / 2

    def joined(self, other: Run, *, space: bool) -> Run:
        """This run and one on its right as one; the longer text says the size."""
        between = " " if space else ""
        shift = len(self.text) + len(between)
        gaps = ((len(self.text), self.x1, other.x0),) if space else ()
        return Run(
            self.text + between + other.text,
            self.x0,
            min(self.y0, other.y0),
            max(self.x1, other.x1),
            max(self.y1, other.y1),
            self.size if len(self.text) >= len(other.text) else other.size,
            self.bold and other.bold,
            (*self.gaps, *gaps, *((at + shift, x0, x1) for at, x0, x1 in other.gaps)),
            apart=self.apart and other.apart,
        )

    def cut(self, gap: Gap) -> tuple[Run, Run]:
        """Two runs, before and after one of the gaps."""
        at, x0, x1 = gap
        left = tuple(one for one in self.gaps if one[0] < at)
        right = tuple((start - at - 1, a, b) for start, a, b in self.gaps if start > at)
        return (
            replace(self, text=self.text[:at], x1=x0, gaps=left),
            replace(self, text=self.text[at + 1 :], x0=x1, gaps=right),
        )


@dataclass(frozen=True, slots=True)
class PageText:
    """The runs of a page in the order of the file, as they stand when the text is upright."""

    number: int  # 1-based
    width: float  # with the text upright
    height: float
    runs: tuple[Run, ...]
    turn: int = 0  # quarter turns clockwise by which the page is shown after that
    unmapped: float = 0.0  # share of characters that the file does not map to Unicode

    def shown(self, x0: float, y0: float, x1: float, y1: float) -> Box:
        """A rectangle on the page as it is shown, from its top left corner."""
        width, height = self.width, self.height
        sides = (
            (x0, y0, x1, y1),
            (height - y1, x0, height - y0, x1),
            (width - x1, height - y1, width - x0, height - y0),
            (y0, width - x1, y1, width - x0),
        )[self.turn]
        left, top, right, bottom = (round(value, 1) for value in sides)
        return Box(page=self.number, x0=left, y0=top, x1=right, y1=bottom)
