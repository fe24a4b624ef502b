"""Tables of HTML pages: which ones hold data, and their cells with spans filled (D24)."""

from __future__ import annotations

from collections.abc import Sequence

from bs4 import Tag

from ragcore.parsing.html.inline import Inline
from ragcore.parsing.tables import Cell

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
LAYOUT_SHARE = 0.6  # a cell with so much of a table's text, and with paragraphs in it, is a column of the page
LAYOUT_CHARACTERS = 1000
MAX_SPAN = 100  # more columns than that means "all of them"


def is_data_table(tag: Tag) -> bool:
    """False for tables that lay out a page, frame a text or number the lines of a program."""
    if tag.get("role") in ("presentation", "none") or tag.find("pre"):
        return False
    rows = own_rows(tag)
    if not any(len(own_cells(row)) > 1 for row in rows):
        return False
    has_header = any(cell.name == "th" for row in rows for cell in own_cells(row))
    if tag.find(HEADINGS) and not has_header:
        return False
    if tag.find("table"):
        return _holds_small_tables(tag, has_header=has_header)
    return has_header or not _has_page_column(tag, rows)


def _holds_small_tables(tag: Tag, *, has_header: bool) -> bool:
    """Tables inside cells are part of the data only where the outer table says that it is one."""
    declares = has_header or tag.find("caption", recursive=False) is not None or str(tag.get("border") or "0") != "0"
    inner = sum(len(table.get_text(strip=True)) for table in tag.find_all("table") if owner(table, "table") is tag)
    return declares and inner < LAYOUT_SHARE * len(tag.get_text(strip=True))


def _has_page_column(tag: Tag, rows: Sequence[Tag]) -> bool:
    whole = len(tag.get_text(strip=True))
    if whole < LAYOUT_CHARACTERS:
        return False
    cells = (cell for row in rows for cell in own_cells(row))
    return any(
        len(cell.get_text(strip=True)) > LAYOUT_SHARE * whole and len(cell.find_all(["p", "div", "ul"])) > 2
        for cell in cells
    )


def owner(node: Tag, name: str) -> Tag | None:
    """The nearest element of this name around a node."""
    return node.find_parent(name)


def own_rows(tag: Tag) -> list[Tag]:
    """The rows of a table without those of tables inside it."""
    return [row for row in tag.find_all("tr") if owner(row, "table") is tag]


def own_cells(row: Tag) -> list[Tag]:
    return row.find_all(["td", "th"], recursive=False)


def table_cells(tag: Tag, inline: Inline) -> tuple[str, list[list[Cell]]]:
    """A title that stands alone in the first row, and the rows of cells below it."""
    rows = own_rows(tag)
    widest = max((len(own_cells(row)) for row in rows), default=1)
    cells = [[_cell(cell, inline, widest) for cell in own_cells(row)] for row in rows]
    if len(cells) > 2 and len(cells[0]) == 1 and len(cells[1]) > 1 and cells[0][0].columns > 1:
        return cells[0][0].text, cells[1:]
    return "", cells


def _cell(tag: Tag, inline: Inline, widest: int) -> Cell:
    _flatten_tables(tag)
    for item in tag.find_all("li")[:-1]:
        item.append("; ")  # items of a list would run into each other
    text = inline.line(tag).replace(" ;", ";")
    columns = _span(tag, "colspan")
    return Cell(text=text, rows=_span(tag, "rowspan"), columns=min(columns, widest) if columns > MAX_SPAN else columns)


def _flatten_tables(cell: Tag) -> None:
    """Small tables inside a cell become text: `name: value; name: value`."""
    for table in reversed(cell.find_all("table")):  # inner ones first
        for row in own_rows(table):
            parts = own_cells(row)
            for position, part in enumerate(parts):
                part.name = "span"
                part.append("; " if position == len(parts) - 1 else ": " if position == 0 else ", ")
        table.name = "span"


def _span(cell: Tag, name: str) -> int:
    value = str(cell.get(name) or "1").strip()
    return max(1, int(value)) if value.isdecimal() and len(value) < 6 else 1
