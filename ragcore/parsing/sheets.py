"""A sheet of cells to blocks: which cells form a table, which are its title, which are notes below it.

People put several tables, titles and remarks on one sheet. Empty rows and columns separate them; whether what
follows an empty row is a new table or the rest of the one above is decided by its columns and its first row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragcore.errors import ResourceLimitError
from ragcore.parsing.tables import Cell, is_number, table_markdown
from ragcore.types import Block

TABLE_ROWS = 5_000  # longer tables become several, each with the header
MAX_COVERED = 1_000_000  # cells under merged ranges
MAX_HEADER_CHARS = 40
MIN_REMARK_CHARS = 20
SPARSE = 2  # a caption has at most half as many cells as the row below it

_REMARK = re.compile(r"(?:注|备注|附注|说明|来源|資料來源|note|source|remark)s?\s*\d*\s*[:：.、]", re.IGNORECASE)
_LABELLED = re.compile(r"[:：]")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A merged range, all ends included; the text is that of its top left cell."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Cells with text by row and column (any base), and the merged ranges."""

    rows: Mapping[int, Mapping[int, str]]
    merges: Sequence[Merge] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """Rows and columns that belong together; neither has to be contiguous."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    titles: tuple[str, ...] = field(default=())


def with_note(text: str, note: str) -> str:
    """A cell with the note that people see beside it, in brackets."""
    opening, closing = ("（", "）") if max(note, default="") > "\u2e7f" else ("(", ")")
    gap = " " if text and opening == "(" else ""
    return f"{text}{gap}{opening}{note}{closing}"


def grid_blocks(grid: Grid, *, page: int | None = None) -> Iterator[Block]:
    """Paragraphs and Markdown tables of a sheet in reading order."""
    reader = _RegionReader(grid)
    for region in reader.regions():
        for kind, text in reader.texts(region):
            if text:
                yield Block(kind="table" if kind == "table" else "paragraph", text=text, page=page)


class _RegionReader:
    def __init__(self, grid: Grid) -> None:
        self.cells = grid.rows
        self.covered: dict[tuple[int, int], Merge] = {}
        self._reached: set[int] = set()  # rows into which a merged cell reaches from above
        used = sorted({column for row in grid.rows.values() for column in row})
        for merge in grid.merges:
            if self.cells.get(merge.top, {}).get(merge.left):
                self._cover(merge, [column for column in used if merge.left <= column <= merge.right])

    def _cover(self, merge: Merge, columns: Sequence[int]) -> None:
        rows = range(merge.top, min(merge.bottom, max(self.cells)) + 1)
        self.covered.update(((row, column), merge) for row in rows for column in columns)
        self._reached.update(rows[1:])
        if len(self.covered) > MAX_COVERED:
            raise ResourceLimitError(limit=f"{MAX_COVERED} merged cells")

    def regions(self) -> Iterator[Region]:
        """Tables and texts of the sheet; what continues a table above is joined to it."""
        last: Region | None = None
        for band in self._bands():
            for region in self._beside(self._with_titles(band)):
                if last is not None and self._continues(last, region):
                    last = replace(last, rows=last.rows + region.rows)
                    continue
                if last is not None:
                    yield last
                last = region
        if last is not None:
            yield last

    def texts(self, region: Region) -> Iterator[tuple[str, str]]:
        """Kind and Markdown of what a region holds."""
        yield from (("paragraph", title) for title in region.titles)
        rows = list(region.rows)
        if len(region.columns) == 1 or len(rows) == 1:
            yield "paragraph", "\n".join("  ".join(self._row_texts(row, region.columns)) for row in rows)
            return
        remarks: list[str] = []
        while len(rows) > 2 and (remark := self._remark(rows[-1], region.columns)):
            remarks.insert(0, remark)
            rows.pop()
        head, body = rows[:1], rows[1:]
        for start in range(0, len(body), TABLE_ROWS):
            part = head + body[start : start + TABLE_ROWS]
            yield "table", table_markdown([self._line(row, part, region.columns) for row in part])
        yield from (("paragraph", remark) for remark in remarks)

    def _bands(self) -> Iterator[Region]:
        """Runs of rows without an empty one between them, and the columns that have text there."""
        filled = sorted({*(row for row, cells in self.cells.items() if cells), *(row for row, _ in self.covered)})
        start = 0
        for place in range(1, len(filled) + 1):
            if place == len(filled) or filled[place] > filled[place - 1] + 1:
                yield self._region(filled[start:place])
                start = place

    def _region(self, rows: Sequence[int]) -> Region:
        columns = {column for row in rows for column in self.cells.get(row, ())}
        columns |= {column for row in rows for column in self._covered_columns(row)}
        return Region(rows=tuple(rows), columns=tuple(sorted(columns)))

    def _covered_columns(self, row: int) -> Iterator[int]:
        """Columns that a merge from above the row or beside it fills."""
        for column in self.cells.get(row, ()):
            merge = self.covered.get((row, column))
            if merge is not None:
                yield from (c for c in range(merge.left, merge.right + 1) if (row, c) in self.covered)

    def _with_titles(self, band: Region) -> Region:
        """The band without the rows at its top that say what the table is, which become its titles."""
        titles: list[str] = []
        rows = list(band.rows)
        while len(rows) > 1 and (title := self._lone(rows[0]) or self._caption(rows[0], rows[1])):
            if len(self._region(rows[1:]).columns) < 2:
                break
            titles.append(title)
            rows.pop(0)
        return replace(self._region(rows), titles=tuple(titles)) if titles else band

    def _lone(self, row: int) -> str:
        """The text of a row that has only one, not reaching into the next row; "" for other rows."""
        cells = self.cells.get(row, {})
        if len(cells) != 1 or row in self._reached:
            return ""
        column, text = next(iter(cells.items()))
        merge = self.covered.get((row, column))
        return "" if merge is not None and merge.bottom > row else text

    def _caption(self, row: int, below: int) -> str:
        """A row such as "Department: Network … Unit: EUR" above a header of many more cells; "" for other rows."""
        cells = self.cells.get(row, {})
        if row in self._reached or any((row, column) in self.covered for column in cells):
            return ""
        sparse = len(cells) * SPARSE <= len(self.cells.get(below, {}))
        return "  ".join(cells.values()) if sparse and all(_LABELLED.search(text) for text in cells.values()) else ""

    def _remark(self, row: int, columns: Sequence[int]) -> str:
        """The text of a row below a table that is no part of it."""
        text = self._lone(row)
        column = next(iter(self.cells.get(row, ())), None)
        wide = (row, column) in self.covered and column == columns[0]
        return text if _REMARK.match(text) or (len(text) >= MIN_REMARK_CHARS and wide) else ""

    def _beside(self, band: Region) -> list[Region]:
        """Tables beside each other as regions of their own: an empty column between, and different rows filled."""
        parts: list[list[int]] = []
        for column in band.columns:
            if parts and column == parts[-1][-1] + 1:
                parts[-1].append(column)
            else:
                parts.append([column])
        if len(parts) < 2 or any(len(part) < 2 for part in parts):
            return [band]
        filled = [tuple(r for r in band.rows if any(c in self.cells.get(r, ()) for c in part)) for part in parts]
        if any(len(rows) < 2 for rows in filled) or len(set(filled)) < len(parts):
            return [band]
        regions = [Region(rows=rows, columns=tuple(part)) for rows, part in zip(filled, parts, strict=True)]
        return [replace(regions[0], titles=band.titles), *regions[1:]]

    def _continues(self, above: Region, below: Region) -> bool:
        """Whether rows after an empty one belong to the table above it."""
        if (
            below.titles
            or len(above.rows) < 2
            or len(above.columns) < 2
            or not set(below.columns) <= set(above.columns)
        ):
            return False
        first = [self.cells.get(below.rows[0], {}).get(column, "") for column in above.columns]
        if sum(map(bool, first)) < 2 and len(below.columns) < 2:
            return False  # a remark
        heads = all(text and len(text) <= MAX_HEADER_CHARS and not _is_figure(text) for text in first)
        figures = any(_is_figure(text) for row in below.rows[1:] for text in self.cells.get(row, {}).values())
        same = first == [self.cells.get(above.rows[0], {}).get(column, "") for column in above.columns]
        return not (same or (heads and figures and len(below.rows) > 1))

    def _row_texts(self, row: int, columns: Sequence[int]) -> Iterator[str]:
        cells = self.cells.get(row, {})
        return (cells[column] for column in columns if cells.get(column))

    def _line(self, row: int, rows: Sequence[int], columns: Sequence[int]) -> list[Cell]:
        """The cells of a row that begin there; spans are counted in the rows and columns that the table keeps."""
        line: list[Cell] = []
        for column in columns:
            merge = self.covered.get((row, column))
            text = self.cells.get(row, {}).get(column, "")
            if merge is None:
                line.append(Cell(text=text))
            elif row == merge.top and column == merge.left:
                tall = sum(merge.top <= other <= merge.bottom for other in rows) if merge.bottom > row else 1
                wide = sum(merge.left <= other <= merge.right for other in columns)
                line.append(Cell(text=text, rows=tall, columns=wide))
        return line


def _is_figure(text: str) -> bool:
    return is_number(text) and not _YEAR.fullmatch(text)
