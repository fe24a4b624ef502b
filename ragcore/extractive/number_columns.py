"""Columns of numbers of a table, and rows that are chosen by one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragcore.extractive.cell_numbers import Measure, column_measures
from ragcore.extractive.lookup_table import LookupTable
from ragcore.extractive.sentences import Statement


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows of a table that were chosen by one of its columns."""

    table: LookupTable
    rows: tuple[int, ...]
    column: int
    fit: tuple[bool, int, bool]  # of the column to the words: by its head, words of its name, by its kind
    beside: tuple[int, ...] = ()  # further columns that it was compared with
    stated: Statement | None = None  # the sentence that tells what it was compared with


def number_columns(table: LookupTable) -> list[tuple[int, list[Measure | None]]]:
    """The columns of numbers behind the first one, with what their cells measure."""
    columns = (
        (at, column_measures(table.head[at], [row[at] for row in table.cells])) for at in range(1, len(table.head))
    )
    return [(at, values) for at, values in columns if values]


def kind_of(values: Sequence[Measure | None]) -> str:
    """The kind of a column's numbers; "" where no unit is named."""
    return next((value.kind for value in values if value is not None and value.kind), "")
