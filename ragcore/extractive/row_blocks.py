"""Rows that a question names, as Markdown: one row cell by cell, several as a table."""

from __future__ import annotations

import re

from ragcore.extractive.formatting import Wording, cite, row_marked, table
from ragcore.extractive.lookup_table import TableRows
from ragcore.text.markdown import labelled
from ragcore.text.scripts import columns

_IDENTIFIER = re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+")
ROW_COLUMNS = 200  # of a row that stands in one line


def found_rows_block(answer: TableRows, words: Wording) -> str:
    """Rows that a question names, each with the marker of its own passage.

    One row alone is told cell by cell behind the names of the columns. How many there are stands above them.
    """
    counted = words.in_all.format(number=answer.every or answer.total)
    if answer.every:
        counted += words.of_these.format(number=answer.total)
    lead = f"**{counted}**\n\n" if answer.total else ""
    if answer.stated is not None:
        lead += f"{cite(*answer.stated, words)}\n\n"
    if len(answer.rows) > 1:
        more = f"\n\n**{words.more_rows.format(number=answer.omitted)}**" if answer.omitted else ""
        return lead + table(answer.head, [row_marked(cells, number, words) for cells, number in answer.rows]) + more
    cells, number = answer.rows[0]
    whole = labelled([readable_label(name) for name in answer.head], cells)
    if columns(whole) <= ROW_COLUMNS:
        return lead + cite(whole, number, words)
    labels = map(readable_label, answer.head)
    points = [labelled(("", name), ("", cell)) for name, cell in zip(labels, cells, strict=True) if cell]
    return lead + "\n".join(f"- {cite(point, number, words)}" for point in points)


def readable_label(name: str) -> str:
    """The name of a column as people write it: "lead time days" of "lead_time_days"; other names as they are."""
    return name.replace("_", " ") if _IDENTIFIER.fullmatch(name) else name
