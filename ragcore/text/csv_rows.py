"""Rows of CSV files that spreadsheets open without running anything. Every CSV file of the product is written here."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

BOM = "\ufeff"  # spreadsheets read UTF-8 by it
_FORMULA = frozenset("=+-@")
_BREAKS = ("\t", "\r", "\n")
_QUOTED = re.compile(r"[\",;\t\r\n]|^\s|\s\Z")  # also what separates cells where another language is set


def csv_line(cells: Iterable[Any], *, separator: str = ",", is_read_again: bool = False) -> str:
    """One row with its line end, no cell of which is a formula.

    `is_read_again`: `unescaped_cell` gives each text back.
    """
    escape = escaped_cell if is_read_again else safe_cell
    return separator.join(map(_quoted, map(escape, cells))) + "\r\n"


def safe_cell(value: Any) -> str:
    """The text of a cell; what a spreadsheet would take for a formula begins with an apostrophe.

    Numbers stay numbers, None is empty. Nothing in front of a formula helps that a program may drop: white space,
    characters without width. Full-width signs count like those of ASCII: spreadsheets in Chinese and Japanese read
    them alike.
    """
    if value is None or (isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)):
        return "" if value is None else str(value)
    text = str(value)
    return f"'{text}" if _is_formula(text) else text


def escaped_cell(value: Any) -> str:
    """`safe_cell` for a file that is read again: `unescaped_cell` gives the cell back, whatever it begins with."""
    cell = safe_cell(value)
    return f"'{value}" if isinstance(value, str) and _is_escaped(value) else cell


def unescaped_cell(cell: str) -> str:
    """What `escaped_cell` has written."""
    return cell[1:] if _is_escaped(cell) else cell


def _is_escaped(cell: str) -> bool:
    """Whether the cell is a formula behind apostrophes, as a text that is written or as one that is read."""
    rest = cell.lstrip("'")
    return rest != cell and _is_formula(rest)


def _is_formula(text: str) -> bool:
    first = next((character for character in text if not _is_dropped(character)), "")
    return text.startswith(_BREAKS) or unicodedata.normalize("NFKC", first)[:1] in _FORMULA


def _is_dropped(character: str) -> bool:
    return character.isspace() or unicodedata.category(character) in ("Cf", "Cc", "Mn", "Me", "Cn", "Co", "Cs")


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if _QUOTED.search(cell) else cell
