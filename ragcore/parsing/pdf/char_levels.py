"""Raised and lowered characters of a PDF, and pages of vertical writing, by the sizes and places of characters."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Any

import pypdfium2.raw as pdfium

from ragcore.parsing.pdf.layout import CJK, FALL, RISE, SMALLER, Gap
from ragcore.parsing.raised import LOWERED, NEAR_CHARACTERS, RAISED, on_level

MUCH_SMALLER = 0.8  # of the height, where the file gives all characters one font size and scales them
SCALED_RISE = 0.3  # the same where the font size does not tell
VERTICAL = 0.7  # share of pairs of Chinese characters that stand below each other, on a page of vertical writing
LEAST_PAIRS = 8
SAMPLE = 400  # characters


@dataclass(frozen=True, slots=True)
class OddChar:
    """A character of a run."""

    position: int  # in the text of the run
    height: float
    bottom: float  # from the top of the page
    index: int  # in the text of the page


def with_levels(
    text: Sequence[str], gaps: Sequence[Gap], first: OddChar, odd: Sequence[OddChar], textpage: Any
) -> tuple[list[str], list[Gap]]:
    """The characters of a run with its raised and lowered figures told from the others, and its gaps at their places.

    `first`: the first character; `odd`: those of another height; all others are as the first one.
    """
    by_position = {char.position: char for char in odd}
    spaces = {gap[0] for gap in gaps}
    chars = [None if at in spaces else by_position.get(at, first) for at in range(len(text))]
    visible = [char for char in chars if char is not None]
    height = max(char.height for char in visible)
    full = [char for char in visible if char.height >= SMALLER * height]
    base = OddChar(0, height, median(char.bottom for char in full), full[0].index)
    levels = [_level(char, base, textpage) if char is not None else 0 for char in chars]
    if not any(levels):
        return list(text), list(gaps)
    characters: list[str] = []
    moved: dict[int, int] = {}  # a place in the text -> in the characters that are returned
    groups = [(level, list(group)) for level, group in groupby(range(len(text)), lambda at: levels[at])]
    for number, (level, places) in enumerate(groups):
        piece = "".join(text[at] for at in places)
        if level:
            after = "".join(text[at] for at in groups[number + 1][1]) if number + 1 < len(groups) else ""
            piece = on_level(piece, level, before="".join(characters[-NEAR_CHARACTERS:]), after=after)
        else:
            moved |= {at: len(characters) + offset for offset, at in enumerate(places)}
        characters += piece
    return characters, [(moved[at], x0, x1) for at, x0, x1 in gaps if at in moved]


def _level(char: OddChar, base: OddChar, textpage: Any) -> int:
    if char.height >= SMALLER * base.height:
        return 0
    size, base_size = (pdfium.FPDFText_GetFontSize(textpage.raw, at) for at in (char.index, base.index))
    is_scaled = size >= SMALLER * base_size
    if is_scaled and char.height >= MUCH_SMALLER * base.height:
        return 0
    rise = base.bottom - char.bottom
    if rise > (SCALED_RISE if is_scaled else RISE) * base.height:
        return RAISED
    return LOWERED if not is_scaled and -rise > FALL * base.height else 0


def is_vertical(chars: str, boxes: array[float]) -> bool:
    """Whether the Chinese or Japanese text of a page runs down in columns. `boxes`: four sides of each."""
    below = beside = 0
    for at in range(min(len(chars), SAMPLE) - 1):
        if chars[at] < CJK or chars[at + 1] < CJK:
            continue
        left, top, right, bottom, next_left, next_top, next_right, next_bottom = boxes[4 * at : 4 * at + 8]
        size = max(right - left, 1.0)
        across = abs((left + right) - (next_left + next_right)) / 2
        down = ((top + bottom) - (next_top + next_bottom)) / 2
        below += across < 0.3 * size and 0.5 * size < down < 2.5 * size
        beside += abs(down) < 0.3 * size and across > 0.5 * size
    return below >= LEAST_PAIRS and below >= VERTICAL * (below + beside)
