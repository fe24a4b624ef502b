"""Runs of text on a page and their reading order: rows, and columns one after the other.

Tables and pictures found by their drawing stand among the runs as `Insert`. Independent of pdfium: recognised text
uses the same layout.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from ragcore.parsing.raised import LOWERED, RAISED, on_level
from ragcore.types import Box

APART_GAP = 0.7  # the same between two lines of a recogniser
GAP = 1.3  # font sizes between two characters from which they belong to different columns or cells
CJK = "\u2e80"  # from here on characters are written without spaces between words

Gap = tuple[int, float, float]  # a space inside a run: its index in the text, and from where to where it is white
SMALLER = 0.87  # of the font size: smaller text in a line may be raised or lowered
RISE = 0.2  # of the height of its line: how much higher raised text ends
FALL = 0.03  # the same for how much lower lowered text ends
MIN_COLUMN_ROWS = 4  # fewer rows beside each other are a table or a signature
FEW_ROWS = 9
MIN_LINE_CHARS = 8  # on average; columns of numbers and single words are no prose
WIDE_LINE = 0.6  # of the width of a column
MIN_FILL = 0.6  # share of the text in wide lines: prose fills its column, the cells of a table do not
FULL = 0.7  # the same for a main text with a box beside it
MAX_DEPTH = 3  # columns inside columns
RUNNING = 0.6  # share of the lines of a paragraph, at least, that end inside a sentence
FULL_LINE = 0.85  # of the width of a column: a line of Chinese that breaks because it is full
_ENDS = ".:;!?。：；！？"
STEP_POINTS = 4.0  # grid on which a gutter is searched


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
        line = " ".join(self.text.split())  # the whole text: a table is furniture only if all of it repeats
        return Run(line, self.x0, self.y0, self.x1, self.y0 + height, height, insert=self)


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
        gaps_before = tuple(gap_before for gap_before in self.gaps if gap_before[0] < at)
        right = tuple((start - at - 1, a, b) for start, a, b in self.gaps if start > at)
        return (
            replace(self, text=self.text[:at], x1=x0, gaps=gaps_before),
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


@dataclass(frozen=True, slots=True)
class Row:
    """What stands on one line, cut into cells where the gap is wide."""

    cells: tuple[Run, ...]

    @property
    def text(self) -> str:
        return " ".join(cell.text for cell in self.cells)

    @property
    def x0(self) -> float:
        return self.cells[0].x0

    @property
    def x1(self) -> float:
        return self.cells[-1].x1

    @property
    def y0(self) -> float:
        return min(cell.y0 for cell in self.cells)

    @property
    def y1(self) -> float:
        return max(cell.y1 for cell in self.cells)

    @property
    def size(self) -> float:
        return max(self.cells, key=lambda cell: len(cell.text)).size

    @property
    def bold(self) -> bool:
        return all(cell.bold for cell in self.cells)


def column_flows(runs: Sequence[Run], depth: int = 0) -> Iterator[list[Row]]:
    """Stretches of rows in reading order; a flow is one column, or full-width rows between columns."""
    gutter = _gutter(runs) if depth < MAX_DEPTH else None
    rows = list(to_rows(runs))
    if gutter is None:
        yield rows
        return
    for crossing, band in _bands(rows, gutter):
        cells = [cell for row in band for cell in row.cells]
        left = [cell for cell in cells if cell.x1 <= gutter]
        right = [cell for cell in cells if cell.x1 > gutter]
        if crossing or not _are_columns(left, right):
            yield band
        else:
            yield from column_flows(left, depth + 1)
            yield from column_flows(right, depth + 1)


def to_rows(runs: Sequence[Run]) -> Iterator[Row]:
    """Rows from top to bottom; runs that stand closer than a cell gap are joined."""
    line: list[Run] = []
    y0 = y1 = 0.0
    for run in sorted(runs, key=lambda r: r.middle):
        if line and min(run.y1, y1) - max(run.y0, y0) < 0.5 * min(run.y1 - run.y0, y1 - y0):
            yield Row(tuple(_join_runs(line)))
            line = []
        y0, y1 = (min(y0, run.y0), max(y1, run.y1)) if line and len(line) < 3 else (run.y0, run.y1)
        line.append(run)
    if line:
        yield Row(tuple(_join_runs(line)))


def _join_runs(line: list[Run]) -> Iterator[Run]:
    line.sort(key=lambda run: run.x0)
    before = line[0]
    for run in line[1:]:
        size = max(before.size, run.size)
        gap = run.x0 - before.x1
        limit = APART_GAP if before.apart and run.apart else GAP
        if gap > limit * size or before.insert is not None or run.insert is not None:
            yield before
            before = run
        else:
            tight = gap < 0.15 * size or before.text[-1] >= CJK or run.text[0] >= CJK or run.text[0] in ",.;:)]"
            before = before.joined(_on_its_level(run, before) if tight else run, space=not tight)
    yield before


def _on_its_level(run: Run, before: Run) -> Run:
    """A run that was drawn apart from its line, its figures told apart where it is raised or lowered."""
    if run.size >= SMALLER * before.size or run.insert is not None:
        return run
    rise, height = before.y1 - run.y1, before.y1 - before.y0
    level = RAISED if rise > RISE * height else LOWERED if -rise > FALL * height else 0
    return replace(run, text=on_level(run.text, level, before=before.text, after="")) if level else run


def _gutter(runs: Sequence[Run]) -> float | None:
    """The x of the white stripe that leaves the most text beside it, or None for one column."""
    if len(runs) < 2 * MIN_COLUMN_ROWS:
        return None
    low, high = min(run.x0 for run in runs), max(run.x1 for run in runs)
    width = high - low
    if sum(run.x1 - run.x0 > 0.6 * width for run in runs) > 0.8 * len(runs):
        return None  # full lines throughout
    best, best_crossing = None, 0.5 * len(runs)
    x = low + 0.2 * width
    while x < low + 0.8 * width:
        crossing = sum(run.x0 < x < run.x1 for run in runs)
        if crossing < best_crossing:
            best, best_crossing = x, crossing
        x += STEP_POINTS
    if best is None:
        return None
    # the middle of the stripe: right-most end on the left, left-most start on the right
    left = max((run.x1 for run in runs if run.x1 <= best), default=low)
    right = min((run.x0 for run in runs if run.x0 >= best), default=high)
    middle = (left + right) / 2
    sides = [run for run in runs if run.x1 <= middle], [run for run in runs if run.x0 >= middle]
    if not _are_columns(*sides):
        return None
    few = min(map(len, sides)) < FEW_ROWS
    if few and _aligned(*sides) > 0.8 and not all(map(_runs_on, sides)):
        return None  # a few aligned rows are a table with long cells
    return middle


def _runs_on(lines: Sequence[Run]) -> bool:
    """Whether most lines go on in the next one, as those of a paragraph do and the cells of a column do not."""
    ordered = sorted(lines, key=lambda run: run.middle)
    width = max(run.x1 for run in ordered) - min(run.x0 for run in ordered)
    going = sum(_goes_on(line, below, width) for line, below in pairwise(ordered))
    return going >= RUNNING * (len(ordered) - 1)


def _goes_on(line: Run, below: Run, width: float) -> bool:
    """Whether a line ends inside a sentence that the next one continues; `width` is that of their column."""
    last, first = line.text[-1], below.text[0]
    if last in _ENDS:
        return False
    return first.islower() or (first >= CJK and line.x1 - line.x0 >= FULL_LINE * width)


def _are_columns(left: Sequence[Run], right: Sequence[Run]) -> bool:
    """Two columns of prose, or prose with a box beside it whose lines do not align as those of a table would."""
    if min(len(left), len(right)) < MIN_COLUMN_ROWS:
        return False
    fills = _fill(left), _fill(right)
    if min(fills) >= MIN_FILL:
        return True
    main, beside = (left, right) if fills[0] >= fills[1] else (right, left)
    return max(fills) >= FULL and _is_wide(main, beside) and _aligned(main, beside) < 0.5


def _is_wide(main: Sequence[Run], beside: Sequence[Run]) -> bool:
    """Whether the main text is wider than the box, which the label column of a table hardly is."""
    widths = [max(run.x1 for run in side) - min(run.x0 for run in side) for side in (main, beside)]
    return widths[0] > widths[1]


def _fill(runs: Sequence[Run]) -> float:
    """Share of the characters that stand in lines as wide as the column; 0 for columns of single words."""
    chars = sum(len(run.text) for run in runs)
    if chars <= MIN_LINE_CHARS * len(runs):
        return 0.0
    width = max(run.x1 for run in runs) - min(run.x0 for run in runs)
    return sum(len(run.text) for run in runs if run.x1 - run.x0 >= WIDE_LINE * width) / chars


def _aligned(main: Sequence[Run], beside: Sequence[Run]) -> float:
    """Share of lines that stand on the same height as a line of the other column."""
    heights = sorted(run.middle for run in main)
    near = (heights[max(0, bisect(heights, run.middle) - 1) :][:2] + [run.middle] for run in beside)
    return sum(any(abs(y - ys[-1]) < 1.5 for y in ys[:-1]) for ys in near) / len(beside)


def _bands(rows: Sequence[Row], gutter: float) -> Iterator[tuple[bool, list[Row]]]:
    """Stretches of rows that cross the gutter, or do not."""
    band: list[Row] = []
    crossing = False
    for row in rows:
        crosses = any(cell.x0 < gutter < cell.x1 for cell in row.cells)
        if band and crosses != crossing:
            yield crossing, band
            band = []
        crossing = crosses
        band.append(row)
    if band:
        yield crossing, band
