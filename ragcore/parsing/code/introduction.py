"""What a source file says of itself at its beginning: the docstring of a module, leading comments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING

from ragcore.parsing.code.definitions import last_row
from ragcore.parsing.code.grammars import COMMENTS

if TYPE_CHECKING:
    from tree_sitter import Node

# notes on rights and orders to programs say nothing about the code
_FORMAL = re.compile(
    r"copyright|licen[cs]e|SPDX-|all rights reserved|^#!|coding[:=]|eslint|pylint|noqa|type: ignore|@ts-|clang-format"
    r"|版权|許可|许可",
    re.IGNORECASE,
)
_QUOTES = re.compile(r"\A[rRuUbBfF]{0,2}(?P<quote>\"\"\"|'''|\"|')(?P<text>.*)(?P=quote)\s*\Z", re.DOTALL)
_MARKS = re.compile(
    r"^[ \t]*(?:/\*+!?|\*+/|//[/!]?|\*+(?!/)|#+:?)[ \t]?|(?:(?<![ \t])[ \t]++)?+\*+/[ \t]*+$", re.MULTILINE
)
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")


@dataclass(frozen=True, slots=True)
class Introduction:
    """Rows that are prose, 0-based and inclusive, and their paragraphs."""

    first: int
    last: int
    paragraphs: tuple[str, ...]


def read_introduction(root: Node, lines: Sequence[str], *, before: int) -> list[Introduction]:
    """The leading comments and the docstring that end above the row `before`, in order; none of licences."""
    runs: list[tuple[int, int]] = []
    for node in root.named_children:
        first, last = node.start_point[0], last_row(node)
        if node.type not in COMMENTS and not _is_docstring(node):
            break
        if runs and runs[-1][1] >= first:
            break  # two on a line
        if node.type in COMMENTS and runs and runs[-1][1] + 1 == first and not _is_string(lines, runs[-1]):
            runs[-1] = (runs[-1][0], last)
        else:
            runs.append((first, last))
    prose = (_introduction(lines, first, last) for first, last in runs if last < before)
    return [part for part in prose if part is not None]


def _is_docstring(node: Node) -> bool:
    is_alone = node.type == "expression_statement" and node.named_child_count == 1
    return is_alone and str(node.named_children[0].type) == "string"


def _is_string(lines: Sequence[str], run: tuple[int, int]) -> bool:
    return _QUOTES.match(_text(lines, *run)) is not None


def _text(lines: Sequence[str], first: int, last: int) -> str:
    return "\n".join(lines[first : last + 1]).strip()


def _introduction(lines: Sequence[str], first: int, last: int) -> Introduction | None:
    text = _text(lines, first, last)
    if _FORMAL.search(text):
        return None
    quoted = _QUOTES.match(text)
    prose = cleandoc(quoted["text"]) if quoted else cleandoc(f"\n{_MARKS.sub('', text)}")
    paragraphs = tuple(part.strip("\n").rstrip() for part in _BLANK_LINES.split(prose) if part.strip())
    return Introduction(first, last, paragraphs) if paragraphs else None
