"""Tables with drawn lines: grids of crossing lines, and the text in their fields as Markdown.

Fields without a line between them are one merged cell. PDF pages bring their lines from drawing.py, pictures of tables
from ragcore/ocr/layout.py. Units are points.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from ragcore.parsing.pdf.aligned_tables import is_number
from ragcore.parsing.pdf.broken_words import join_cell_lines, long_words
from ragcore.parsing.pdf.layout import Insert, Row, Run, to_rows
from ragcore.parsing.tables import Cell, fill_spans, markdown_table

SNAP = 3.0  # lines that lie closer are one
WALL_SHARE = 0.6  # of the side of a field that a line must cover
MAX_FIELDS = 20_000
OPEN_SIDE = 12.0  # points by which lines stand out beyond the outermost crossing line of an open table
MIN_TEXTS = 4  # fields with text
MIN_TEXT_SHARE = 0.2  # of all fields; less is a drawing
MAX_GAPPED = 0.15  # of the lines in fields
LONG_TEXT = 100
MIN_STACK = 3  # figures under each other in one tall field: rows that nobody ruled
MIN_NUMBERS = 0.7


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
    return _merge_lines(across), _merge_lines(down)


def _merge_lines(lines: Sequence[Line]) -> list[Line]:
    """Lines that lie on each other or touch end to end are one."""
    merged: list[Line] = []
    for group in _clusters(sorted(lines, key=lambda line: line.at)):
        at = sum(line.at for line in group) / len(group)
        start = end = None
        for line in sorted(group, key=lambda item: item.start):
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


def find_grids(across: Sequence[Line], down: Sequence[Line]) -> Iterator[Grid]:
    """The grids that crossing lines form, from top to bottom."""
    built = [grid for group in _crossing_groups(across, down) if (grid := _build_grid(*group)) is not None]
    yield from sorted(built, key=lambda grid: grid.ys[0])


def _crossing_groups(across: Sequence[Line], down: Sequence[Line]) -> Iterator[tuple[list[Line], list[Line]]]:
    """Groups of lines that hang together."""
    left_down = list(down)
    left_across = list(across)
    while left_down:
        rows: list[Line] = []
        columns = [left_down.pop()]
        fresh = list(columns)
        while fresh:
            column = fresh.pop()
            touching = [row for row in left_across if _is_crossing(row, column)]
            left_across = [row for row in left_across if not _is_crossing(row, column)]
            rows += touching
            for row in touching:
                more = [other for other in left_down if _is_crossing(row, other)]
                left_down = [other for other in left_down if not _is_crossing(row, other)]
                columns += more
                fresh += more
        if len(rows) > 1:
            yield rows, columns


def _is_crossing(row: Line, column: Line) -> bool:
    within_row = row.start - SNAP <= column.at <= row.end + SNAP
    return within_row and column.start - SNAP <= row.at <= column.end + SNAP


def _build_grid(across: list[Line], down: list[Line]) -> Grid | None:
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
    covered = [[False] * columns for _ in range(rows)]
    fields = []
    for r in range(rows):
        for c in range(columns):
            if covered[r][c]:
                continue
            width = 1
            while c + width < columns and not right[r][c + width - 1] and not covered[r][c + width]:
                width += 1
            height = 1
            while r + height < rows and not any(below[r + height - 1][c : c + width]):
                height += 1
            for row in covered[r : r + height]:
                row[c : c + width] = [True] * width
            fields.append(Field(r, c, height, width))
    return fields


def _is_wall(lines: Sequence[Line], at: float, start: float, end: float) -> bool:
    covered = sum(max(0.0, min(line.end, end) - max(line.start, start)) for line in lines if abs(line.at - at) <= SNAP)
    return covered >= WALL_SHARE * (end - start)


def take_tables(runs: Sequence[Run], grids: Sequence[Grid]) -> tuple[list[Run], list[Insert]]:
    """Runs outside the tables, and the tables made of the others.

    Titles and remarks in fields across the whole width above and below a table are text, not rows of it.
    """
    outside, tables, words = list(runs), [], long_words(runs)
    for grid in grids:
        filled = _FilledGrid.of(grid, [run for run in outside if grid.holds(run)], words)
        if not filled.is_table:
            continue
        body = filled.without_titles()
        lines = fill_spans(list(body.rows()))
        top, bottom = grid.ys[body.first], grid.ys[body.last]
        tables.append(Insert("table", markdown_table(lines), grid.xs[0], top, grid.xs[-1], bottom))
        in_table = {id(run) for field in body.fields for run in body.texts[field]}
        outside = [run for run in outside if id(run) not in in_table]
    return outside, tables


@dataclass(frozen=True, slots=True)
class _FilledGrid:
    """A grid and the runs in each field; rows from `first` to before `last` count."""

    grid: Grid
    texts: dict[Field, list[Run]]
    first: int
    last: int
    words: Set[str] = frozenset()  # whole words of the page

    @classmethod
    def of(cls, grid: Grid, runs: Sequence[Run], words: Set[str]) -> _FilledGrid:
        texts: dict[Field, list[Run]] = {field: [] for field in grid.fields}
        place = {
            (row, column): field
            for field in grid.fields
            for row in range(field.row, field.row + field.rows)
            for column in range(field.column, field.column + field.columns)
        }
        for run in runs:
            row, column = _stripe(grid.ys, run.middle), _stripe(grid.xs, (run.x0 + run.x1) / 2)
            texts[place[row, column]].append(run)
        return cls(grid, texts, 0, grid.size[0], words)

    @property
    def fields(self) -> list[Field]:
        return [field for field in self.grid.fields if self.first <= field.row < self.last]

    @property
    def is_table(self) -> bool:
        """Several rows and columns with text; a drawing has hardly any, a frame has one field.

        Where many lines have wide gaps, only some borders were drawn, and alignment tells more than they do.
        """
        filled = [field for field in self.fields if self.texts[field]]
        spread = min(len({field.column for field in filled}), len({field.row for field in filled}))
        if spread < 2 or len(filled) < max(MIN_TEXTS, MIN_TEXT_SHARE * len(self.fields)):
            return False
        lines = [row for field in filled for row in to_rows(self.texts[field]) if field.columns < self.grid.size[1]]
        return sum(len(row.cells) > 1 for row in lines) <= MAX_GAPPED * len(lines)

    def without_titles(self) -> _FilledGrid:
        """Without full-width fields at the top and bottom, as long as a table is left."""
        first, last = self.first, self.last
        wide = {field.row: field for field in self.fields if field.columns == self.grid.size[1]}
        while first in wide and first + wide[first].rows < last - 1:
            first += wide[first].rows
        while last - 1 in wide and wide[last - 1].rows == 1 and last - 1 > first + 1:
            last -= 1
        shorter = replace(self, first=first, last=last)
        return shorter if shorter.is_table else self

    def rows(self) -> Iterator[list[Cell]]:
        """Rows for fill_spans. A ruled row that holds several rows of figures or of headings is cut into these."""
        by_row = [[field for field in self.fields if field.row == row] for row in range(self.first, self.last)]
        cuts = [self._stacked(fields) or self._headings(fields) for fields in by_row]
        heights = [max((len(rows) for rows in cut.values()), default=1) for cut in cuts]
        for at, (fields, cut) in enumerate(zip(by_row, cuts, strict=True)):
            for line in range(heights[at]):
                yield [
                    cell
                    for field in fields
                    for cell in self._cells(field, cut.get(field), line, sum(heights[at : at + field.rows]))
                ]

    def _cells(self, field: Field, cut: list[list[Cell]] | None, line: int, height: int) -> list[Cell]:
        """What a field adds to a line: its own rows, or all its text in the first line."""
        if cut is None:
            return _merged_cell(self._text(field), height, field.columns) if line == 0 else []
        if line == len(cut) - 1:  # headings of fewer lines reach down to the last of the others
            return [replace(cell, rows=height - line) for cell in cut[line]]
        return cut[line] if line < len(cut) else []

    def _text(self, field: Field) -> str:
        """The lines of a field as one."""
        left, right = self.grid.xs[field.column], self.grid.xs[field.column + field.columns]
        return join_cell_lines(list(to_rows(self.texts[field])), left=left, right=right, words=self.words)

    def _stacked(self, fields: Sequence[Field]) -> dict[Field, list[list[Cell]]]:
        """Lines of a ruled row in which figures stand under each other; empty where it is one row of wrapped text."""
        if any(field.rows > 1 for field in fields):
            return {}
        stacks = {field: list(to_rows(self.texts[field])) for field in fields}
        deepest = max((len(stack) for stack in stacks.values()), default=0)
        if not any(_is_stack(stack, deepest) for stack in stacks.values()):
            return {}
        lines = list(to_rows([run for field in fields for run in self.texts[field]]))
        return {
            field: [[Cell(text=_beside(stacks[field], line), columns=field.columns)] for line in lines]
            for field in fields
        }

    def _headings(self, fields: Sequence[Field]) -> dict[Field, list[list[Cell]]]:
        """Merged fields whose lines stand over the columns below them, as headings that nobody ruled do."""
        cut = {}
        for field in fields:
            if field.columns > 1 and field.rows == 1:
                lines = [self._over_columns(field, row) for row in to_rows(self.texts[field])]
                if any(len(cells) > 1 for cells in lines):
                    cut[field] = lines
        return cut

    def _over_columns(self, field: Field, row: Row) -> list[Cell]:
        """One cell a column if the row can be cut at every border that it crosses, else one over all of them."""
        borders = self.grid.xs[field.column + 1 : field.column + field.columns]
        pieces = [piece for cell in row.cells for piece in _cut_at(cell, borders)]
        columns = [_stripe((0.0, *borders, 0.0), (piece.x0 + piece.x1) / 2) for piece in pieces]
        if len(pieces) < 2 or any(piece.x0 < border - 1 < piece.x1 - 2 for piece in pieces for border in borders):
            return [Cell(text=row.text, columns=field.columns)]
        texts = [""] * field.columns
        for column, piece in zip(columns, pieces, strict=True):
            texts[column] = f"{texts[column]} {piece.text}".strip()
        return [Cell(text=text) for text in texts]


def _merged_cell(text: str, height: int, columns: int) -> list[Cell]:
    """A merged cell; a long text is said once a row, not in every column."""
    if columns > 1 and len(text) > LONG_TEXT:
        return [Cell(text=text, rows=height), Cell(text="", rows=height, columns=columns - 1)]
    return [Cell(text=text, rows=height, columns=columns)]


def _stripe(positions: Sequence[float], at: float) -> int:
    """The stripe between two neighbouring positions in which a value lies; outside counts as the outermost."""
    return sum(at >= position for position in positions[1:-1])


def _cut_at(run: Run, borders: Sequence[float]) -> list[Run]:
    """A run cut at the spaces over which a border stands."""
    pieces = [run]
    for border in borders:
        last = pieces[-1]
        over = [gap for gap in last.gaps if gap[1] - 1 <= border <= gap[2] + 1]
        if over:
            pieces[-1:] = last.cut(over[0])
    return pieces


def _is_stack(stack: Sequence[Row], deepest: int) -> bool:
    numbers = sum(is_number(row.text) for row in stack)
    return len(stack) >= max(MIN_STACK, MIN_NUMBERS * deepest) and numbers >= MIN_NUMBERS * len(stack)


def _beside(stack: Sequence[Row], line: Row) -> str:
    """What a field holds on the height of a line."""
    return " ".join(row.text for row in stack if line.y0 - 1 <= (row.y0 + row.y1) / 2 <= line.y1 + 1)
