"""Rows that a question names, as Markdown: one row cell by cell, several as a table."""

from __future__ import annotations

from ragcore.extractive.formatting import Wording, cite, row_marked, table
from ragcore.extractive.lookup_table import TableRows
from ragcore.text.markdown import labelled
from ragcore.text.scripts import columns

ROW_COLUMNS = 200  # of a row that stands in one line


def found_rows_block(found: TableRows, words: Wording) -> str:
    """Rows that a question names, each with the marker of its own passage.

    One row alone is told cell by cell behind the names of the columns. How many there are stands above them.
    """
    counted = words.in_all.format(number=found.every or found.total)
    if found.every:
        counted += words.of_these.format(number=found.total)
    lead = f"**{counted}**\n\n" if found.total else ""
    if len(found.rows) > 1:
        left = f"\n\n**{words.more_rows.format(number=found.left)}**" if found.left else ""
        return lead + table(found.head, [row_marked(cells, number, words) for cells, number in found.rows]) + left
    cells, number = found.rows[0]
    whole = labelled(found.head, cells)
    if columns(whole) <= ROW_COLUMNS:
        return lead + cite(whole, number, words)
    points = [labelled(("", name), ("", cell)) for name, cell in zip(found.head, cells, strict=True) if cell]
    return lead + "\n".join(f"- {cite(point, number, words)}" for point in points)
