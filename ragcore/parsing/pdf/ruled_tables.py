"""Rulings to grids: lines that cross form one, and missing lines between its fields merged cells (D24).

Pages of PDFs bring their lines from pdf_objects, pictures of tables from recognition_rulings; units are points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragcore.parsing.pdf.page import Run

SNAP = 3.0  # lines that lie closer are one
WALL_SHARE = 0.6  # of the side of a field that a line must cover
MAX_FIELDS = 20_000
OPEN_SIDE = 12.0  # points by which lines stand out beyond the outermost crossing line of an open table


@dataclass(frozen=True, slots=True)
class Line:
    """A horizontal line at y = `at` from x = `start` to `end`, or a vertical one with x and y changed."""

    at: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Field:
    """A cell: its place in the grid and what it covers."""

    row: int
    column: int
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Grid:
    """Positions of the lines and the cells between them, in reading order."""

    xs: tuple[float, ...]
    ys: tuple[float, ...]
    fields: tuple[Field, ...]

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the grid."""
        return len(self.ys) - 1, len(self.xs) - 1

    def holds(self, run: Run) -> bool:
        """Whether the middle of a run lies in the grid."""
        x = (run.x0 + run.x1) / 2
        return self.xs[0] - 1 <= x <= self.xs[-1] + 1 and self.ys[0] - 1 <= run.middle <= self.ys[-1] + 1


def split_lines(lines: Sequence[tuple[float, float, float, float]]) -> tuple[list[Line], list[Line]]:
    """Lines as x0, y0, x1, y1 (downwards) to horizontal and vertical ones, collinear pieces put together."""
    across = [Line((y0 + y1) / 2, x0, x1) for x0, y0, x1, y1 in lines if x1 - x0 >= y1 - y0]
    down = [Line((x0 + x1) / 2, y0, y1) for x0, y0, x1, y1 in lines if x1 - x0 < y1 - y0]
    return _merged(across), _merged(down)


def _merged(lines: Sequence[Line]) -> list[Line]:
    """Lines that lie on each other or touch end to end are one."""
    merged: list[Line] = []
    for group in _clusters(sorted(lines, key=lambda line: line.at)):
        at = sum(line.at for line in group) / len(group)
        start = end = None
        for line in sorted(group, key=lambda one: one.start):
            if start is None or end is None or line.start > end + SNAP:
                if start is not None and end is not None:
                    merged.append(Line(at, start, end))
                start, end = line.start, line.end
            else:
                end = max(end, line.end)
        if start is not None and end is not None:
            merged.append(Line(at, start, end))
    return merged


def _clusters(ordered: Sequence[Line]) -> Iterator[list[Line]]:
    group: list[Line] = []
    for line in ordered:
        if group and line.at - group[0].at > SNAP:
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def grids(across: Sequence[Line], down: Sequence[Line]) -> Iterator[Grid]:
    """The grids that crossing lines form, from top to bottom."""
    found = [grid for group in _crossing(across, down) if (grid := _grid(*group)) is not None]
    yield from sorted(found, key=lambda grid: grid.ys[0])


def _crossing(across: Sequence[Line], down: Sequence[Line]) -> Iterator[tuple[list[Line], list[Line]]]:
    """Groups of lines that hang together."""
    left_down = list(down)
    left_across = list(across)
    while left_down:
        rows: list[Line] = []
        columns = [left_down.pop()]
        fresh = list(columns)
        while fresh:
            column = fresh.pop()
            touching = [row for row in left_across if _cross(row, column)]
            left_across = [row for row in left_across if not _cross(row, column)]
            rows += touching
            for row in touching:
                more = [other for other in left_down if _cross(row, other)]
                left_down = [other for other in left_down if not _cross(row, other)]
                columns += more
                fresh += more
        if len(rows) > 1:
            yield rows, columns


def _cross(row: Line, column: Line) -> bool:
    within_row = row.start - SNAP <= column.at <= row.end + SNAP
    return within_row and column.start - SNAP <= row.at <= column.end + SNAP


def _grid(across: list[Line], down: list[Line]) -> Grid | None:
    """The grid of lines that hang together; sides that an open table leaves out are added."""
    start, end = min(line.start for line in across), max(line.end for line in across)
    top, bottom = min(line.at for line in across), max(line.at for line in across)
    for side in (start, end):
        if all(abs(line.at - side) > OPEN_SIDE for line in down):
            down = [*down, Line(side, top, bottom)]
    xs, ys = _positions(down), _positions(across)
    if len(xs) < 3 or len(ys) < 3 or (len(xs) - 1) * (len(ys) - 1) > MAX_FIELDS:
        return None  # one row or column: a frame
    return Grid(tuple(xs), tuple(ys), tuple(_fields(xs, ys, across, down)))


def _positions(lines: Sequence[Line]) -> list[float]:
    ordered = sorted(lines, key=lambda line: line.at)
    return [sum(line.at for line in group) / len(group) for group in _clusters(ordered)]


def _fields(xs: Sequence[float], ys: Sequence[float], across: Sequence[Line], down: Sequence[Line]) -> list[Field]:
    """Fields between which no line stands are one, as far as they form a rectangle."""
    rows, columns = len(ys) - 1, len(xs) - 1
    right = [[_is_wall(down, xs[c + 1], ys[r], ys[r + 1]) for c in range(columns)] for r in range(rows)]
    below = [[_is_wall(across, ys[r + 1], xs[c], xs[c + 1]) for c in range(columns)] for r in range(rows)]
    taken = [[False] * columns for _ in range(rows)]
    fields = []
    for r in range(rows):
        for c in range(columns):
            if taken[r][c]:
                continue
            width = 1
            while c + width < columns and not right[r][c + width - 1] and not taken[r][c + width]:
                width += 1
            height = 1
            while r + height < rows and not any(below[r + height - 1][c : c + width]):
                height += 1
            for row in taken[r : r + height]:
                row[c : c + width] = [True] * width
            fields.append(Field(r, c, height, width))
    return fields


def _is_wall(lines: Sequence[Line], at: float, start: float, end: float) -> bool:
    covered = sum(max(0.0, min(line.end, end) - max(line.start, start)) for line in lines if abs(line.at - at) <= SNAP)
    return covered >= WALL_SHARE * (end - start)
