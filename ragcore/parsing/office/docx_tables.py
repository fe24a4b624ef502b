"""Tables of Word: rows and cells as they count, merged cells as spans (D9, D24)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ragcore.parsing.office.docx_text import Element, W
from ragcore.parsing.tables import Cell

_MAX_SPAN = 500


def table_rows(table: Element) -> list[Element]:
    """The table's own rows, without those of tables inside it and without deleted ones."""
    rows = [row for row in table.iter(W + "tr") if next(row.iterancestors(W + "tbl")) is table]
    return [row for row in rows if row.find(f"{W}trPr/{W}del") is None]


def row_cells(row: Element) -> Iterator[Element]:
    """The row's own cells, without those of tables inside them."""
    for cell in row.iter(W + "tc"):
        if next(cell.iterancestors(W + "tr")) is row:
            yield cell


def table_grid(rows: Sequence[Element], text_of: Callable[[Element], str]) -> list[list[Cell]]:
    """Cells with their spans; Word says "continues" below, the grid wants a count above."""
    grid: list[list[Cell]] = []
    above: dict[int, tuple[int, int]] = {}  # column -> row and index of the cell that may continue there
    for number, row in enumerate(rows):
        column = _skipped(row)
        cells = [Cell(text="")] * column
        for node in row_cells(row):
            width = _width(node)
            if _continues(node) and column in above:
                origin, index = above[column]
                cell = grid[origin][index]
                grid[origin][index] = Cell(text=cell.text, rows=number - origin + 1, columns=cell.columns)
            else:
                above[column] = (number, len(cells))
                cells.append(Cell(text=text_of(node), columns=width))
            column += width
        grid.append(cells)
    return grid


def _skipped(row: Element) -> int:
    found = row.find(f"{W}trPr/{W}gridBefore")
    return _bounded(found.get(W + "val")) if found is not None else 0


def _width(cell: Element) -> int:
    found = cell.find(f"{W}tcPr/{W}gridSpan")
    return max(1, _bounded(found.get(W + "val"))) if found is not None else 1


def _bounded(value: str | None) -> int:
    return min(int(value), _MAX_SPAN) if value and value.isdecimal() else 0


def _continues(cell: Element) -> bool:
    merge = cell.find(f"{W}tcPr/{W}vMerge")
    return merge is not None and merge.get(W + "val") != "restart"
