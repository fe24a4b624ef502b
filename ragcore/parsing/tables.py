"""Grids of cells to Markdown tables, shared by the formats that have tables."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from ragcore.errors import ResourceLimitError

MAX_COLUMNS = 500  # a span of a million columns is an attack or a mistake
MAX_ROWS = 50_000
MAX_HEADER_ROWS = 4
WIDE_ROW = 4
FORM_SHARE = 0.55  # of the places of the grid; a table of figures has a cell in nearly each

_NUMBER = re.compile(r"[-+(]?[^\w\s]?\s?\d[\d,. ]*\s?[^\w\s]?\)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell as the source declares it, before its spans are filled."""

    text: str
    rows: int = 1  # rowspan
    columns: int = 1  # colspan


Line = list[Cell | None]
Spans = dict[int, tuple[Cell, int]]  # column -> a cell from above and how many more rows it covers


def fill_spans(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:
    """A rectangular grid in which a merged cell stands in every place that it covers.

    Columns that no row tells apart are dropped, and a cell across a whole row is said once.
    Raises ResourceLimitError for more than MAX_ROWS rows or MAX_COLUMNS cells in a row.
    """
    return [_texts(line) for line in _square(rows)]


def table_markdown(rows: Sequence[Sequence[Cell]]) -> str:
    """A Markdown table of cells with spans; a header of several rows becomes one ("2023 / Q1"). "" without text.

    In a form, whose columns are mere layout, each row is its cells one after the other.
    Raises ResourceLimitError like `fill_spans`.
    """
    grid = _square(rows)
    if _is_form(grid):
        return markdown_table([_said_once(line) for line in grid])
    depth = _header_rows(grid)
    texts = [_texts(line) for line in grid[depth:]]
    if depth:
        texts.insert(0, [_joined([line[column] for line in grid[:depth]]) for column in range(len(grid[0]))])
    return markdown_table(texts)


def is_number(text: str) -> bool:
    """Whether a cell holds a figure: digits with signs, separators, a currency sign or a percent sign."""
    return _NUMBER.fullmatch(text.strip()) is not None


def _is_form(grid: Sequence[Line]) -> bool:
    """Whether most cells are merged across columns, so that columns mean nothing."""
    width = len(grid[0]) if grid else 0
    cells = sum(len({id(cell) for cell in line}) for line in grid)
    return width > WIDE_ROW and cells < FORM_SHARE * width * len(grid)


def _said_once(line: Line) -> list[str]:
    cells = [next(group) for _, group in groupby(line, key=id)]
    return [cell.text for cell in cells if cell is not None and cell.text.strip()]


def _header_rows(grid: Sequence[Line]) -> int:
    """How many rows at the top are one header: 0 unless cells of the first row spread over columns of the next.

    Each cell of a first row must either reach down beside the others, or spread over names that the next row gives.
    """
    depth = 1
    while depth < min(len(grid), MAX_HEADER_ROWS + 1) and _divides(grid[depth - 1], grid[depth]):
        depth += 1
    return depth if 1 < depth <= MAX_HEADER_ROWS and depth < len(grid) else 0


def _divides(upper: Line, lower: Line) -> bool:
    """Whether the lower row names the columns under cells of the upper one, and does nothing else."""
    divided = False
    for _, group in groupby(range(len(upper)), key=lambda column: id(upper[column])):
        columns = list(group)
        head, below = upper[columns[0]], [lower[column] for column in columns]
        names = {cell.text.strip() for cell in below if cell is not None and cell.text.strip()}
        if below[0] is head or not names:
            continue
        spreads = len(columns) > 1 and len(names) > 1
        if any(map(is_number, names)) or (head is not None and head.text.strip() and not spreads):
            return False
        divided = divided or (spreads and head is not None and bool(head.text.strip()))
    return divided and any(cell is not upper[0] for cell in upper)


def _joined(column: Sequence[Cell | None]) -> str:
    parts = [" ".join(cell.text.split()) for cell in column if cell is not None]
    return " / ".join(dict.fromkeys(filter(None, parts)))


def _square(rows: Sequence[Sequence[Cell]]) -> list[Line]:
    """Rows of equal width in which a merged cell is the same object in every place that it covers."""
    if len(rows) > MAX_ROWS:
        raise ResourceLimitError(rows=len(rows), limit=MAX_ROWS)
    grid: list[Line] = []
    above: Spans = {}
    for row in rows:
        line, above = _place(row, above)
        grid.append(line)
    width = max((len(line) for line in grid), default=0)
    square = [line + [None] * (width - len(line)) for line in grid]
    columns = [i for i in range(width) if i == 0 or any(line[i] is not line[i - 1] for line in square)]
    return [[line[i] for i in columns] for line in square]


def _place(row: Sequence[Cell], above: Spans) -> tuple[Line, Spans]:
    """One row of the grid, and the cells that reach down into the next one."""
    line: Line = []
    below: Spans = {}
    waiting = deque(row)
    while (waiting or any(column >= len(line) for column in above)) and len(line) < MAX_COLUMNS:
        if len(line) in above:
            cell, rows_below = above[len(line)]
            if rows_below > 1:
                below[len(line)] = (cell, rows_below - 1)
            line.append(cell)
        elif waiting:
            cell = waiting.popleft()
            for _ in range(min(cell.columns, MAX_COLUMNS - len(line))):
                if cell.rows > 1:
                    below[len(line)] = (cell, cell.rows - 1)
                line.append(cell)
        else:
            line.append(None)
    if waiting:
        raise ResourceLimitError(columns=len(line) + len(waiting), limit=MAX_COLUMNS)
    return line, below


def _texts(line: Sequence[Cell | None]) -> list[str]:
    """A merged cell is repeated, unless it takes most of a wide row as in forms: then it is said once."""
    texts: list[str] = []
    for _, group in groupby(line, key=id):
        first, *repeats = group
        count, text = 1 + len(repeats), first.text if first is not None else ""
        once = count == len(line) or (len(line) > WIDE_ROW and count > len(line) / 2)
        texts += [text, *[""] * (count - 1)] if once else [text] * count
    return texts


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose first row is the header; "" when no cell has text."""
    lines = [[escape_cell(cell) for cell in row] for row in rows]
    lines = [line for line in lines if any(line)]
    if not lines:
        return ""
    width = max(map(len, lines))
    padded = [line + [""] * (width - len(line)) for line in lines]
    rule = ["---"] * width
    return "\n".join(f"| {' | '.join(line)} |" for line in (padded[0], rule, *padded[1:]))


def escape_cell(text: str) -> str:
    """A cell on one line, its bars escaped."""
    return re.sub(r"\s+", " ", text).strip().replace("|", r"\|")
