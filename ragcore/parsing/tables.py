"""Grids of cells to Markdown tables, shared by the formats that have tables (D9, D24)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

MAX_COLUMNS = 500  # a span of a million columns is an attack or a mistake
MAX_ROWS = 50_000
WIDE_ROW = 4


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
    """
    grid: list[Line] = []
    above: Spans = {}
    for row in rows[:MAX_ROWS]:
        line, above = _place(row, above)
        grid.append(line)
    width = max((len(line) for line in grid), default=0)
    square = [line + [None] * (width - len(line)) for line in grid]
    kept = [i for i in range(width) if i == 0 or any(line[i] is not line[i - 1] for line in square)]
    return [_texts([line[i] for i in kept]) for line in square]


def _place(row: Sequence[Cell], above: Spans) -> tuple[Line, Spans]:
    """One row of the grid, and the cells that reach down into the next one."""
    line: Line = []
    below: Spans = {}
    waiting = deque(row)
    while (waiting or any(column >= len(line) for column in above)) and len(line) < MAX_COLUMNS:
        if len(line) in above:
            cell, left = above[len(line)]
            if left > 1:
                below[len(line)] = (cell, left - 1)
            line.append(cell)
        elif waiting:
            cell = waiting.popleft()
            for _ in range(min(cell.columns, MAX_COLUMNS - len(line))):
                if cell.rows > 1:
                    below[len(line)] = (cell, cell.rows - 1)
                line.append(cell)
        else:
            line.append(None)
    return line, below


def _texts(line: Sequence[Cell | None]) -> list[str]:
    """A merged cell is repeated, unless it takes most of a wide row as in forms: then it is said once."""
    texts: list[str] = []
    for _, group in groupby(line, key=id):
        first, *others = group
        count, text = 1 + len(others), first.text if first is not None else ""
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
