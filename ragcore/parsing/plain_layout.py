"""Headings and tables of plain text, which has no marks for them: told by how they are set.

Careful on purpose: a line that is wrongly a heading hides text, one that is wrongly none costs little.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from ragcore.parsing.aligned_columns import LEAST_ROWS, aligned_rows
from ragcore.parsing.tables import markdown_table
from ragcore.text.scripts import columns

HEADING_COLUMNS = 72
CELL_COLUMNS = 40  # of all cells of a row but its last
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
_POINT = re.compile(r"[-*+•]\s|\d{1,2}\.\d{1,2}[.、]?\s")
_LABELLED = re.compile(r"(?P<letters>[A-Z]{1,3})(?P<number>\d{1,3})[.:)]?\s+\S")


@dataclass(frozen=True, slots=True)
class Part:
    """A paragraph as written, a heading (`level` from 1), or a table as Markdown."""

    text: str
    level: int = 0
    is_table: bool = False


def plain_parts(paragraphs: Sequence[str]) -> list[Part]:
    """The paragraphs of a text, with headings and tables told apart.

    A heading stands alone: underlined, in capitals, or numbered and followed by something that is not the next number,
    which would make it a list; or it is numbered and in capitals above indented lines. A table has at least three lines
    with as many columns, two or more blanks apart, or with cells below those of its head. Lines with labels ("D1 ...",
    "D2 ...") are points of a list.
    """
    parts: list[Part] = []
    for paragraph, following in zip_longest(paragraphs, paragraphs[1:], fillvalue=""):
        lines = paragraph.split("\n")
        if (underlined := _underlined(lines)) is not None:
            parts += underlined
        elif len(lines) == 1 and (level := _heading_level(lines[0].strip(), following)):
            parts.append(Part(lines[0].strip(), level))
        elif level := _heads_lines(lines):
            parts += [Part(lines[0].strip(), level), _body(lines[1:])]
        else:
            parts.append(_body(lines))
    return parts


def _body(lines: Sequence[str]) -> Part:
    """A list of labelled points, a table, or the paragraph as written."""
    if points := _labelled_points(lines):
        return Part("\n".join(points))
    if rows := _table_rows(lines) or aligned_rows(lines):
        return Part(markdown_table(rows), is_table=True)
    return Part("\n".join(lines))


def _heads_lines(lines: Sequence[str]) -> int:
    """The level of a numbered first line above lines that are all indented; 0: it begins a point.

    It is in capitals, or points stand below it. A Chinese number needs no indented lines.
    """
    if (chinese := _CHINESE.fullmatch(lines[0].rstrip())) is not None:
        is_list = len(lines) < 2 or any(map(_CHINESE.fullmatch, map(str.strip, lines[1:])))
        return 2 if _is_title(lines[0]) and not is_list and chinese["unit"] != "条" else 0
    numbered = _NUMBERED.fullmatch(lines[0].rstrip())
    if numbered is None or len(lines) < 2 or not _is_title(lines[0]) or not _LETTERS.match(numbered["words"]):
        return 0
    below = [line for line in lines[1:] if line.strip()]
    if not all(line.startswith(("  ", "\t")) for line in below):
        return 0
    words = numbered["words"]
    if words == words.upper() != words.lower() or _POINT.match(below[0].lstrip()):
        return min(numbered["number"].count(".") + 2, 6)
    return 0


def _labelled_points(lines: Sequence[str]) -> list[str]:
    """The lines as points of a list, where at least two begin with labels that count on and the others are indented."""
    edge = _indent(lines[0])
    labels = [(at, _LABELLED.match(line.lstrip())) for at, line in enumerate(lines) if _indent(line) == edge]
    if len(labels) < 2 or any(match is None for _at, match in labels) or any(_indent(line) < edge for line in lines):
        return []
    counted = [(match["letters"], int(match["number"])) for _at, match in labels if match is not None]
    if any(after != (letters, number + 1) for (letters, number), after in pairwise(counted)):
        return []
    starts = [at for at, _match in labels]
    return [
        f"- {' '.join(line.strip() for line in lines[start:end])}"
        for start, end in zip_longest(starts, starts[1:], fillvalue=len(lines))
    ]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _underlined(lines: Sequence[str]) -> list[Part] | None:
    """A line above a rule as long as it, and what stands below; None where there is no such rule."""
    if len(lines) < 2 or not (rule := _UNDERLINE.fullmatch(lines[1].strip())):
        return None
    title = lines[0].strip()
    if not _is_title(title) or _COLUMN_GAP.search(title) or len(lines[1].strip()) < columns(title) / 2:
        return None
    rest = "\n".join(lines[2:]).strip("\n")
    return [Part(title, UNDERLINES[rule[1]]), *([Part(rest)] if rest else [])]


def _heading_level(line: str, following: str) -> int:
    """The level of a heading that stands alone; 0: it is none."""
    if not _is_title(line) or not following:
        return 0
    if chinese := _CHINESE.fullmatch(line):
        after = _CHINESE.fullmatch(following.strip())
        return 2 if chinese["unit"] != "条" and (after is None or after["unit"] != chinese["unit"]) else 0
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
    if len(lines) < LEAST_ROWS or len(set(map(_indent, lines))) > 1:
        return []
    rows = [_COLUMN_GAP.split(line.strip()) for line in lines if not re.fullmatch(r"[-=+ |]{3,}", line.strip())]
    widths = {len(row) for row in rows}
    if len(rows) < LEAST_ROWS or len(widths) != 1 or widths.pop() < 2:
        return []
    is_prose = any(columns(cell) > CELL_COLUMNS or _SENTENCE_END.search(cell) for row in rows for cell in row[:-1])
    return [] if is_prose else rows
