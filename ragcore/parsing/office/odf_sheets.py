"""OpenDocument spreadsheets (.ods): each sheet as a heading and its tables, cells as they are shown (D9)."""

from __future__ import annotations

from collections.abc import Iterator

from ragcore.errors import ResourceLimitError
from ragcore.parsing.office.odf import document_metadata, open_document
from ragcore.parsing.office.odf_text import DRAW, TABLE, TextReader
from ragcore.parsing.office.xml import Element, whole
from ragcore.parsing.parser_errors import coded_errors, finished
from ragcore.parsing.sheets import Grid, Merge, grid_blocks
from ragcore.types import Block, ParsedDocument

MAX_CELLS = 1_000_000  # with text, of one workbook
MAX_PLACES = 2_000_000  # rows or columns; programs repeat empty ones up to their last one
_CELLS = (TABLE + "table-cell", TABLE + "covered-table-cell")


class OdsParser:
    """Every sheet, hidden ones too."""

    formats = (".ods",)

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises what `ragcore.parsing.parse` raises."""
        with coded_errors(name):
            reader, body = open_document(content, name=name, kind="spreadsheet")
            blocks = [block for sheet in body.findall(TABLE + "table") for block in _sheet(reader, sheet, name)]
            metadata = document_metadata(reader.package)
            return finished(
                blocks,
                name=name,
                title=metadata.pop("title", ""),
                metadata=metadata | reader.shelf.metadata(),
                pictures=reader.shelf.pictures(),
            )


def _sheet(reader: TextReader, sheet: Element, name: str) -> Iterator[Block]:
    grid = _grid(reader, sheet, name)
    pictures = [block for shapes in sheet.findall(TABLE + "shapes") for block in reader.blocks(shapes)]
    pictures += [
        block
        for cell in sheet.iter(TABLE + "table-cell")
        if cell.find(DRAW + "frame") is not None
        for block in reader.blocks(cell.findall(DRAW + "frame"))
    ]
    if grid.rows or pictures:
        yield Block(kind="heading", text=" ".join((sheet.get(TABLE + "name") or "").split()), level=1)
        yield from grid_blocks(grid)
        yield from pictures


def _grid(reader: TextReader, sheet: Element, name: str) -> Grid:
    """Texts by place. Repeated cells and rows without text only move the place."""
    rows: dict[int, dict[int, str]] = {}
    merges: list[Merge] = []
    number, count = 0, 0
    for row in sheet.iter(TABLE + "table-row"):
        cells, found = _row(reader, row, number)
        height = _count(row, "rows")
        count += len(cells) * height
        if count > MAX_CELLS:
            raise ResourceLimitError(name=name, limit=f"{MAX_CELLS} cells")
        if cells:
            rows.update((number + offset, cells) for offset in range(height))
            merges += found
        number += height
    return Grid(rows=rows, merges=merges)


def _row(reader: TextReader, row: Element, number: int) -> tuple[dict[int, str], list[Merge]]:
    cells: dict[int, str] = {}
    merges: list[Merge] = []
    column = 0
    for cell in row:
        if cell.tag not in _CELLS:
            continue
        width = _count(cell, "columns")
        if cell.tag == _CELLS[0] and (text := reader.cell_text(cell)):
            if len(cells) + width > MAX_CELLS:
                raise ResourceLimitError(limit=f"{MAX_CELLS} cells")
            cells.update(dict.fromkeys(range(column, column + width), text))
            tall, wide = _span(cell, "rows"), _span(cell, "columns")
            if (tall, wide) != (1, 1):
                merges.append(Merge(top=number, left=column, bottom=number + tall - 1, right=column + wide - 1))
        column += width
    return cells, merges


def _count(node: Element, kind: str) -> int:
    return whole(node.get(f"{TABLE}number-{kind}-repeated"), 1, low=1, high=MAX_PLACES)


def _span(cell: Element, kind: str) -> int:
    return whole(cell.get(f"{TABLE}number-{kind}-spanned"), 1, low=1, high=MAX_PLACES)
