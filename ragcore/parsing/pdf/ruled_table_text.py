"""Text into the fields of a ruled grid: the table as Markdown, merged cells filled (D24)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ragcore.parsing.pdf.aligned_tables import is_number
from ragcore.parsing.pdf.layout import Row, to_rows
from ragcore.parsing.pdf.page import Insert, Run
from ragcore.parsing.pdf.paragraphs import joined
from ragcore.parsing.pdf.ruled_tables import Field, Grid
from ragcore.parsing.tables import Cell, fill_spans, markdown_table

MIN_TEXTS = 4  # fields with text
MIN_TEXT_SHARE = 0.2  # of all fields; less is a drawing
MAX_GAPPED = 0.15  # of the lines in fields
LONG_TEXT = 100
MIN_STACK = 3  # figures under each other in one tall field: rows that nobody ruled
MIN_NUMBERS = 0.7


def take_tables(runs: Sequence[Run], grids: Sequence[Grid]) -> tuple[list[Run], list[Insert]]:
    """Runs outside the tables, and the tables made of the others.

    Titles and remarks in fields across the whole width above and below a table are text, not rows of it.
    """
    left, tables = list(runs), []
    for grid in grids:
        filled = _Filled.of(grid, [run for run in left if grid.holds(run)])
        if not filled.is_table:
            continue
        body = filled.without_titles()
        lines = fill_spans(list(body.rows()))
        top, bottom = grid.ys[body.first], grid.ys[body.last]
        tables.append(Insert("table", markdown_table(lines), grid.xs[0], top, grid.xs[-1], bottom))
        taken = {id(run) for field in body.fields for run in body.texts[field]}
        left = [run for run in left if id(run) not in taken]
    return left, tables


@dataclass(frozen=True, slots=True)
class _Filled:
    """A grid and the runs in each field; rows from `first` to before `last` count."""

    grid: Grid
    texts: dict[Field, list[Run]]
    first: int
    last: int

    @classmethod
    def of(cls, grid: Grid, runs: Sequence[Run]) -> _Filled:
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
        return cls(grid, texts, 0, grid.size[0])

    @property
    def fields(self) -> list[Field]:
        return [field for field in self.grid.fields if self.first <= field.row < self.last]

    @property
    def is_table(self) -> bool:
        """Several rows and columns with text; a drawing has hardly any, a frame has one field.

        Where many lines have wide gaps, only some borders were drawn, and alignment tells more than they do.
        """
        held = [field for field in self.fields if self.texts[field]]
        spread = min(len({field.column for field in held}), len({field.row for field in held}))
        if spread < 2 or len(held) < max(MIN_TEXTS, MIN_TEXT_SHARE * len(self.fields)):
            return False
        lines = [row for field in held for row in to_rows(self.texts[field]) if field.columns < self.grid.size[1]]
        return sum(len(row.cells) > 1 for row in lines) <= MAX_GAPPED * len(lines)

    def without_titles(self) -> _Filled:
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
            return _whole(_text(self.texts[field]), height, field.columns) if line == 0 else []
        if line == len(cut) - 1:  # headings of fewer lines reach down to the last of the others
            return [replace(cell, rows=height - line) for cell in cut[line]]
        return cut[line] if line < len(cut) else []

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


def _whole(text: str, height: int, columns: int) -> list[Cell]:
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


def _text(runs: Sequence[Run]) -> str:
    """The lines of a field as one."""
    text = ""
    for row in to_rows(runs):
        text = joined(text, row.text)
    return text


def _is_stack(stack: Sequence[Row], deepest: int) -> bool:
    numbers = sum(is_number(row.text) for row in stack)
    return len(stack) >= max(MIN_STACK, MIN_NUMBERS * deepest) and numbers >= MIN_NUMBERS * len(stack)


def _beside(stack: Sequence[Row], line: Row) -> str:
    """What a field holds on the height of a line."""
    return " ".join(row.text for row in stack if line.y0 - 1 <= (row.y0 + row.y1) / 2 <= line.y1 + 1)
