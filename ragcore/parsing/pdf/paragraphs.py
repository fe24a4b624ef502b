"""Rows of PDF text to paragraphs and list items: where one ends, and how lines are joined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from statistics import median

from ragcore.parsing.pdf.layout import Row
from ragcore.parsing.pdf.page import CJK

SPACING = 1.35  # times the usual distance of rows: a new paragraph
SIZE_CHANGE = 0.12  # relative
BULLET = re.compile(r"[•●▪■◆◦‣⁃∙▶►➢➤✓✔\uf0b7\uf06c\uf0a7\uf0d8\uf0fc]\s*|[-–—*·]\s+")
_ITEM = re.compile(r"(?:\(?[0-9]{1,2}[.)）](?!\d)|[(（][0-9a-zA-Z一二三四五六七八九十]{1,3}[)）]|[①-⑳])\s*(?=\S)")
PROSE_CHARS = 40
_PUNCTUATION = re.compile("[，。；]")
_CJK_SPACE = re.compile(r"(?<=[\u2e80-\uffef]) +(?=[\u2e80-\uffef])")
_STRAY_SPACE = re.compile(r"(?<=\S) (?=[,;](?:\s|$))")  # behind a raised number or mark
_COMPOUND = re.compile(r"[^\W\d_]+-[^\W\d_]+")
_LAST_WORD = re.compile(r"\w+-$")
_FIRST_WORD = re.compile(r"^[^\W\d_]+|^\w+")
_TERMINAL = "。！？.!?:：;；…”』」）)"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Joined rows with what tells headings and lists."""

    text: str
    rows: tuple[Row, ...]
    size: float
    bold: bool

    @property
    def is_item(self) -> bool:
        return BULLET.match(self.text) is not None

    @property
    def is_open(self) -> bool:
        """Whether the text breaks off, as at the end of a column or page."""
        return self.text[-1] not in _TERMINAL


def paragraphs(rows: Sequence[Row], compounds: Set[str] = frozenset()) -> Iterator[Paragraph]:
    """Paragraphs of one column in order; `compounds` as `joined` has them."""
    pitch = _usual_pitch(rows)
    left, right = min((row.x0 for row in rows), default=0.0), max((row.x1 for row in rows), default=0.0)
    current: list[Row] = []
    for row in rows:
        if current and _begins(row, current, pitch, left, right):
            yield _paragraph(current, compounds)
            current = []
        current.append(row)
    if current:
        yield _paragraph(current, compounds)


def _usual_pitch(rows: Sequence[Row]) -> float:
    """Usual distance from row to row, as a multiple of the font size."""
    pitches = [
        (row.y1 - before.y1) / row.size for before, row in zip(rows, rows[1:], strict=False) if row.y1 > before.y1
    ]
    close = [pitch for pitch in pitches if pitch < 2.5]
    return median(close) if close else 1.3


def _begins(row: Row, current: Sequence[Row], pitch: float, left: float, right: float) -> bool:
    """Whether a row begins a new paragraph after the rows of the current one."""
    before = current[-1]
    if abs(row.size - before.size) > SIZE_CHANGE * before.size or row.bold != before.bold:
        return True
    if row.y1 - before.y1 > SPACING * pitch * row.size or row.y0 < before.y0:
        return True
    if BULLET.match(row.text) or _ITEM.match(row.text):
        return True
    hanging = BULLET.match(current[0].text) or _ITEM.match(current[0].text)
    if row.x0 > before.x0 + 0.8 * row.size:
        return not (hanging and len(current) == 1) and before.x0 < left + 3 * row.size
    short = before.x1 < right - 0.15 * (right - left)
    if short and not hanging and row.x0 > left + row.size and abs(row.x0 - before.x0) < 0.3 * row.size:
        return True  # two first lines under each other: the upper one is a heading or a short paragraph
    return short and before.text[-1] in _TERMINAL and not hanging


def _paragraph(rows: Sequence[Row], compounds: Set[str]) -> Paragraph:
    text = ""
    for row in rows:
        text = joined(text, row.text, compounds)
    if len(text) > PROSE_CHARS and _PUNCTUATION.search(text):
        text = _CJK_SPACE.sub("", text)  # spaces that stretch a line; Chinese prose has none
    text = _STRAY_SPACE.sub("", text)
    longest = max(rows, key=lambda row: len(row.text))
    return Paragraph(text, tuple(rows), longest.size, all(row.bold for row in rows))


def joined(before: str, line: str, compounds: Set[str] = frozenset()) -> str:
    """Two lines of one paragraph: no space where Chinese meets, a hyphen at the line end taken out.

    Words of `compounds` are written with their hyphen elsewhere too, and keep it.
    """
    if not before or not line:
        return before + line
    if before.endswith("-") and len(before) > 1 and before[-2].isalnum() and before[-2] < CJK and line[0].isalnum():
        whole = f"{_LAST_WORD.findall(before)[-1]}{_FIRST_WORD.findall(line)[0]}".lower()
        keeps = not (before[-2].isalpha() and line[0].islower()) or whole in compounds
        return before + line if keeps else before[:-1] + line
    return before + line if before[-1] >= CJK or line[0] >= CJK else f"{before} {line}"


def compounds_of(texts: Iterable[str]) -> frozenset[str]:
    """Words with a hyphen inside, lower case, as "dual-encoder"."""
    return frozenset(word.lower() for text in texts if "-" in text for word in _COMPOUND.findall(text))
