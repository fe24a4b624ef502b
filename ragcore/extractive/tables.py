"""Tables of a source: rows that read alone, and the rows of an answer as a table again (A2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ragcore.extractive.marks import plain_text
from ragcore.text.table_rows import is_rule, row_cells


@dataclass(frozen=True, slots=True)
class Table:
    """Head and rows as plain cells; all rows are as wide as the head."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def is_row(line: str) -> bool:
    """Whether a line of Markdown is a row of a table."""
    return line.lstrip().startswith("|")


def cells_of(row: str) -> tuple[str, ...]:
    """The cells of a row without Markdown marks."""
    return tuple(map(plain_text, row_cells(row)))


def tables(lines: Iterable[str]) -> Iterator[Table]:
    """The tables with a head among these lines, each as far as its rows are as wide as its head."""
    for group in _groups(lines):
        if len(group) > 2 and is_rule(group[1]):
            head = cells_of(group[0])
            rows = []
            for line in group[2:]:
                cells = cells_of(line)
                if len(cells) != len(head):
                    break
                rows.append(cells)
            if rows:
                yield Table(head, tuple(rows))


def labelled(head: Sequence[str], cells: Sequence[str]) -> str:
    """A row that reads alone: its first cell, then every cell behind the name of its column, between dots.

    Cells that say the same as their column, and empty ones, are left out; without a head it is the cells alone.
    """
    parts = [cells[0]] if cells and cells[0] else []
    for name, value in zip(head[1:] or [""] * len(cells[1:]), cells[1:], strict=False):
        if value and value != name:
            parts.append(f"{name}{_colon(name)}{value}" if name else value)
    return " · ".join(parts)


def _colon(name: str) -> str:
    return "：" if name[-1] > "\u2e7f" else ": "


def _groups(lines: Iterable[str]) -> Iterator[list[str]]:
    """Rows that stand together."""
    group: list[str] = []
    for line in lines:
        if is_row(line):
            group.append(line)
        elif group:
            yield group
            group = []
    if group:
        yield group
