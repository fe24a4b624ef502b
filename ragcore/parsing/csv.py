"""Tables as text with separators: .csv and .tsv, whatever the separator and the encoding."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from itertools import islice

from ragcore.errors import ResourceLimitError
from ragcore.labels import gettext_noop as _
from ragcore.parsing.charset import decode
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.parsing.sheets import Grid, grid_blocks
from ragcore.text.csv_fields import allow_long_fields
from ragcore.types import ParsedDocument

MAX_CELLS = 1_000_000
SAMPLE_ROWS = 200
_SEPARATORS = {".csv": ",;\t|", ".tsv": "\t,;|"}  # at equal evidence the first one wins


class CsvParser:
    """One table; lines above its header that hold a single text become paragraphs."""

    formats = (".csv", ".tsv")
    media_types = {"text/csv": ".csv", "text/tab-separated-values": ".tsv"}
    label = _("CSV")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, CorruptDocumentError (binary content) or ResourceLimitError."""
        require_content(content, name=name)
        with coded_errors(name):
            text = decode(content)
            declared, text = _declared(text)
            separator = declared or _separator(text, _SEPARATORS[".tsv" if name.lower().endswith(".tsv") else ".csv"])
            filled = (cells for row in _rows(text, separator) if (cells := _cells(row)))
            rows: dict[int, dict[int, str]] = {}
            count = 0
            for number, cells in enumerate(filled):
                rows[number] = cells
                count += len(cells)
                if count > MAX_CELLS:
                    raise ResourceLimitError(name=name, limit=f"{MAX_CELLS} cells")
            return build_document(grid_blocks(Grid(rows=rows)), name=name)


def _declared(text: str) -> tuple[str, str]:
    """The separator that a first line such as "sep=;" names for Excel, and the text below it."""
    first, _, rest = text.partition("\n")
    first = first.strip()
    return (first[4:], rest) if first.lower().startswith("sep=") and len(first) == 5 else ("", text)


def _rows(text: str, separator: str, *, strict: bool = False) -> Iterator[list[str]]:
    allow_long_fields()
    return csv.reader(StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=strict)


def _cells(row: list[str]) -> dict[int, str]:
    return {column: text for column, value in enumerate(row) if (text := value.strip())}


def _separator(text: str, candidates: str) -> str:
    """The separator under which most rows have the same number of columns, more than one.

    The standard library's Sniffer guesses from quotes and letters, and takes a space or a letter at times.
    """
    return max(candidates, key=lambda candidate: _evidence(text, candidate))


def _evidence(text: str, separator: str) -> float:
    """Share of sample rows with the most frequent width, a little more for more columns; 0 for a single column.

    A separator with which closing quotes do not end their cells counts half.
    """
    regularity = _regularity(_rows(text, separator, strict=True))
    return regularity if regularity is not None else (_regularity(_rows(text, separator)) or 0.0) / 2


def _regularity(lines: Iterator[list[str]]) -> float | None:
    """None where the sample cannot be read."""
    widths: Counter[int] = Counter()
    try:
        for row in islice(lines, SAMPLE_ROWS):
            widths[len(row)] += bool(row)
    except csv.Error:
        return None
    width, rows = max(widths.items(), key=lambda item: (item[1] * (item[0] > 1), item[0]), default=(1, 0))
    return rows / widths.total() + min(width, 100) / 1000 if width > 1 and rows else 0.0
