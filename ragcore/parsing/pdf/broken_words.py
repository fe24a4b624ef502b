"""Words that the end of a line in a narrow cell has broken without a hyphen.

Programs that set tables break a word that is wider than its cell: "ContentionResolutionTim" above "er". A line that is
one word and ends at the edge of the cell was broken so if the word goes on like an identifier, or if the page has the
whole word elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set

from ragcore.parsing.pdf.layout import CJK, Row, Run
from ragcore.parsing.pdf.paragraphs import join_lines

ROOM = 1.5  # mean characters that are free at the end of a full line, and
ROOM_BEFORE_WIDE = 2.2  # where the next one is wide
WIDE = "mwMW"
ROOM_BEFORE_CAPITAL = 1.2  # the same where a new word may begin
LEAST_BEGINNING = 8  # characters that begin a word of the page
LEAST = 5  # characters of a line that can be a broken word
_INSIDE = re.compile(r"[a-z][A-Z]|[A-Za-z]_|_[A-Za-z]|[A-Za-z]\d|\d[A-Za-z]|[A-Za-z]-[A-Za-z0-9]")
_WORD = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")


def long_words(runs: Iterable[Run]) -> frozenset[str]:
    """Words of a page that a narrow cell may break."""
    return frozenset(word for run in runs for word in _WORD.findall(run.text) if len(word) > LEAST)


def join_cell_lines(rows: Sequence[Row], *, left: float, right: float, words: Set[str] = frozenset()) -> str:
    """The lines of a cell between two edges as one text; `words`: whole words of the page."""
    text = ""
    for at, row in enumerate(rows):
        broken = at > 0 and _is_broken(text, rows[at - 1], row, left=left, right=right, words=words)
        text = text + row.text if broken else join_lines(text, row.text)
    return text


def _is_broken(before: str, row: Row, following: Row, *, left: float, right: float, words: Set[str]) -> bool:
    """Whether the last word of the text so far goes on in the following line."""
    line = row.text
    if " " in line or len(line) < LEAST or not line[-1].isalnum() or line[-1] >= CJK:
        return False
    first = _WORD.match(following.text)
    if first is None:
        return False
    whole = f"{before.rpartition(' ')[2]}{first[0]}"
    if whole in words:
        return True
    x0, x1 = min(cell.x0 for cell in row.cells), max(cell.x1 for cell in row.cells)
    free = right - (x0 - left) - x1  # the margin on the right is as wide as the one on the left
    if free > _room_before(first[0][0]) * (x1 - x0) / len(line):
        return False
    is_identifier = _INSIDE.search(line) is not None or _INSIDE.search(first[0]) is not None
    return is_identifier or (len(whole) > LEAST_BEGINNING and any(word.startswith(whole) for word in words))


def _room_before(char: str) -> float:
    """How many mean characters may be free where this one did not fit any more."""
    return ROOM_BEFORE_WIDE if char in WIDE else ROOM_BEFORE_CAPITAL if char.isupper() else ROOM
