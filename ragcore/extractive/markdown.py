"""Markdown of a source: marks taken off a sentence that is quoted, and tables as rows that read alone (A2, A4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ragcore.text.table_rows import is_rule, row_cells

_MARKS = re.compile(
    r"^\s*(?:[-*+>]\s+|\d{1,3}[.)]\s+)+|`{1,3}|\*{2,3}|__|!?\[(?=[^\]]+\]\()|(?<=\w)\]\([^)\s]*\)|<[^>]{1,40}>"
    r"|(?<![\w*])\*(?=[^\s*][^*]*\*(?![\w*]))|(?<=[^\s*])\*(?![\w*])"
)
_MARKER_LIKE = re.compile(r"\[(\d{1,3})\]")
_CELLS = re.compile(r"\s*\|\s*")
_SPACE = re.compile(r"\s+")


def plain_text(markdown: str) -> str:
    """A sentence without Markdown marks; the source's own [n] becomes ［n］, so that nobody takes it for a citation.

    The cells of a row stand between dots.
    """
    text = _CELLS.sub(" · ", _MARKS.sub("", markdown.strip())).strip(" ·")
    return _SPACE.sub(" ", _MARKER_LIKE.sub(r"［\1］", text)).strip()


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
