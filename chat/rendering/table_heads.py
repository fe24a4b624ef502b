"""Cells of wide tables that carry the head of their column, so that CSS can set a row as a list where room is short."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markdown_it.token import Token

from ragcore.text.scripts import columns

FEWEST_COLUMNS = 4  # with less, cells that wrap are enough
ROOM = 44  # widths of a Latin letter that fit into a row on a phone
WIDEST_CELL = 32  # longer cells wrap
LONGEST_HEAD = 60  # it is repeated in every row


def label_cells(tokens: Sequence[Token], visible: Callable[[str], str]) -> None:
    """Set `data-head` at the cells of each table that is too wide for a phone. `visible`: a text without our marks."""
    heads: list[str] = []
    cells: list[tuple[Token, str]] = []
    for at, token in enumerate(tokens):
        if token.type == "table_open":
            heads, cells = [], []
        elif token.type == "th_open":
            heads.append(visible(_words(tokens[at + 1])))
        elif token.type == "td_open":
            cells.append((token, visible(tokens[at + 1].content)))
        elif token.type == "table_close" and _is_wide(heads, [text for _, text in cells]):
            for place, (cell, _) in enumerate(cells):
                cell.attrSet("data-head", heads[place % len(heads)])


def _is_wide(heads: Sequence[str], texts: Sequence[str]) -> bool:
    if len(heads) < FEWEST_COLUMNS or max(map(columns, heads)) > LONGEST_HEAD:
        return False
    widest = (max(map(columns, (head, *texts[at :: len(heads)]))) for at, head in enumerate(heads))
    return sum(min(width, WIDEST_CELL) for width in widest) > ROOM


def _words(line: Token) -> str:
    """The words of a line without emphasis, markers and formulas."""
    return "".join(child.content for child in line.children or () if child.type in ("text", "code_inline")).strip()
