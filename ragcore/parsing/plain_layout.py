"""Headings and tables of plain text, which has no marks for them: told by how they are set.

Careful on purpose: a line that is wrongly a heading hides text, one that is wrongly none costs little.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from ragcore.parsing.tables import markdown_table
from ragcore.text.scripts import columns

HEADING_COLUMNS = 72
CELL_COLUMNS = 40  # of all cells of a row but its last
LEAST_ROWS = 3  # of a table, its head among them
UNDERLINES = {"=": 1, "-": 2, "~": 2}
_UNDERLINE = re.compile(r"([=~-])\1{2,}")
_NUMBERED = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,4})[.、]?[ \t\u3000]+(?P<words>\S.*)")
_CHINESE = re.compile(
    r"第[一二三四五六七八九十百\d]{1,4}(?P<unit>[章节条])[ \t\u3000]*\S.*"
    r"|[一二三四五六七八九十]{1,3}、\S.*"
)
_SENTENCE_END = re.compile(r"[.。!！?？;；,，:：…]\s*\Z")
_COLUMN_GAP = re.compile(r"\t+| {2,}|\u3000{2,}")
_LETTERS = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class Part:
    """A paragraph as written, a heading (`level` from 1), or a table as Markdown."""

    text: str
    level: int = 0
    is_table: bool = False


def plain_parts(paragraphs: Sequence[str]) -> list[Part]:
    """The paragraphs of a text, with headings and tables told apart.

    A heading stands alone: underlined, in capitals, or numbered and followed by something that is not the next number,
    which would make it a list. A table has at least three lines with as many columns, two or more blanks apart.
    """
    parts = []
    for paragraph, following in zip_longest(paragraphs, paragraphs[1:], fillvalue=""):
        lines = paragraph.split("\n")
        if (underlined := _underlined(lines)) is not None:
            parts += underlined
        elif len(lines) == 1 and (level := _heading_level(lines[0].strip(), following)):
            parts.append(Part(lines[0].strip(), level))
        elif rows := _table_rows(lines):
            parts.append(Part(markdown_table(rows), is_table=True))
        else:
            parts.append(Part(paragraph))
    return parts


def _underlined(lines: Sequence[str]) -> list[Part] | None:
    """A line above a rule as long as it, and what stands below; None where there is no such rule."""
    if len(lines) < 2 or not (rule := _UNDERLINE.fullmatch(lines[1].strip())):
        return None
    title = lines[0].strip()
    if not _is_title(title) or len(lines[1].strip()) < columns(title) / 2:
        return None
    rest = "\n".join(lines[2:]).strip("\n")
    return [Part(title, UNDERLINES[rule[1]]), *([Part(rest)] if rest else [])]


def _heading_level(line: str, following: str) -> int:
    """The level of a heading that stands alone; 0: it is none."""
    if not _is_title(line) or not following:
        return 0
    if chinese := _CHINESE.fullmatch(line):
        return 2 if _CHINESE.fullmatch(following.strip()) is None and chinese["unit"] != "条" else 0
    if numbered := _NUMBERED.fullmatch(line):
        level = numbered["number"].count(".") + 2
        after = _NUMBERED.fullmatch(following.strip())
        is_list = after is not None and after["number"].count(".") + 2 <= level
        return 0 if is_list or not _LETTERS.match(numbered["words"]) else min(level, 6)
    words = _LETTERS.findall(line)
    return 1 if len(words) >= 4 and line == line.upper() != line.lower() else 0


def _is_title(line: str) -> bool:
    return bool(_LETTERS.search(line)) and columns(line) <= HEADING_COLUMNS and not _SENTENCE_END.search(line)


def _table_rows(lines: Sequence[str]) -> list[list[str]]:
    """The cells of a table; [] where the lines are none. Lines that begin at different columns are levels of a list."""
    if len(lines) < LEAST_ROWS or len({len(line) - len(line.lstrip()) for line in lines}) > 1:
        return []
    rows = [_COLUMN_GAP.split(line.strip()) for line in lines if not re.fullmatch(r"[-=+ |]{3,}", line.strip())]
    widths = {len(row) for row in rows}
    if len(rows) < LEAST_ROWS or len(widths) != 1 or widths.pop() < 2:
        return []
    is_prose = any(columns(cell) > CELL_COLUMNS or _SENTENCE_END.search(cell) for row in rows for cell in row[:-1])
    return [] if is_prose else rows
