"""Tables of a PDF page that show by their alignment alone: rows of several cells under each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragcore.parsing.pdf_chars import Run
from ragcore.parsing.pdf_layout import Row
from ragcore.parsing.tables import markdown_table

MIN_ROWS = 2  # rows of several cells; fewer are no table
MAX_SINGLES = 2  # rows of one cell between them: wrapped labels and subheadings
MAX_LEADING = 2.2  # font sizes between the rows of one table
_OPENERS = frozenset({"$", "€", "£", "¥", "￥", "(", "US$", "$(", "A$", "-"})
_TRAILING_SIGN = re.compile(r"\s+([$€£¥￥])$")
_CLOSERS = frozenset({")", "%", ")%", "%)", "*"})


def split_tables(rows: Sequence[Row]) -> Iterator[tuple[bool, list[Row]]]:
    """Stretches of rows that form a table, or do not."""
    prose: list[Row] = []
    index = 0
    while index < len(rows):
        end = _table_end(rows, index)
        if end is None:
            prose.append(rows[index])
            index += 1
            continue
        if prose:
            yield False, prose
            prose = []
        yield True, list(rows[index:end])
        index = end
    if prose:
        yield False, prose


def _table_end(rows: Sequence[Row], start: int) -> int | None:
    """Index behind the table that begins here, or None."""
    if not _is_tabular(rows[start]):
        return None
    end, tabular, singles = start + 1, 1, 0
    for index in range(start + 1, len(rows)):
        row, before = rows[index], rows[index - 1]
        if row.y0 - before.y1 > MAX_LEADING * max(row.size, before.size):
            break
        if _is_tabular(row):
            end, tabular, singles = index + 1, tabular + 1, 0
        else:
            singles += 1
            if singles > MAX_SINGLES or len(row.text) > 120:
                break
    return end if tabular >= MIN_ROWS else None


def _is_tabular(row: Row) -> bool:
    cells = merged_signs(row.cells)
    return len(cells) > 1 and not (len(cells) == 2 and len(cells[0].text) <= 4 and not cells[0].text[0].isdigit())


def merged_signs(cells: Sequence[Run]) -> list[Run]:
    """Cells with currency signs and brackets that stand apart put back to their numbers."""
    merged: list[Run] = []
    for cell in cells:
        before = merged[-1] if merged else None
        if before is not None and (before.text in _OPENERS or cell.text in _CLOSERS):
            merged[-1] = _together(before, cell)
        elif before is not None and (sign := _TRAILING_SIGN.search(before.text)) is not None:
            end = before.x1 - cell.size  # the sign is about one character wide
            merged[-1] = replace(before, text=before.text[: sign.start()], x1=max(end, before.x0 + 1))
            merged.append(replace(cell, text=sign[1] + cell.text))
        else:
            merged.append(cell)
    return merged


def _together(one: Run, other: Run) -> Run:
    y0, y1 = min(one.y0, other.y0), max(one.y1, other.y1)
    return Run(one.text + other.text, one.x0, y0, other.x1, y1, other.size, other.bold)


def table_markdown(rows: Sequence[Row]) -> str:
    """Rows as a Markdown table, cells put under each other by their position; "" if they do not align."""
    lines = [merged_signs(row.cells) for row in rows]
    columns = _columns(lines)
    if len(columns) < 2:
        return ""
    grid = []
    for line in lines:
        texts = [""] * len(columns)
        for cell in line:
            at = max(range(len(columns)), key=lambda i: _closeness(cell, columns[i]))
            texts[at] = f"{texts[at]} {cell.text}".strip()
        grid.append(texts)
    return markdown_table(grid)


def _columns(lines: Sequence[Sequence[Run]]) -> list[tuple[float, float]]:
    """Stripes that the cells of the fullest rows share; a cell across several stripes is a header above them."""
    columns: list[tuple[float, float]] = []
    most = max(map(len, lines))
    for line in sorted(lines, key=len, reverse=True):
        if len(line) < max(2, most / 2):
            break
        for cell in line:
            touched = [column for column in columns if column[0] < cell.x1 and cell.x0 < column[1]]
            if not touched:
                columns.append((cell.x0, cell.x1))
            elif len(touched) == 1:
                columns.remove(touched[0])
                columns.append((min(touched[0][0], cell.x0), max(touched[0][1], cell.x1)))
    return sorted(columns)


def _closeness(cell: Run, column: tuple[float, float]) -> float:
    """Points of overlap, or the negative distance."""
    return min(cell.x1, column[1]) - max(cell.x0, column[0])
