"""Headings of a PDF by font size, weight and numbering."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragcore.parsing.pdf.paragraphs import Paragraph

LARGER = 1.08  # times the body size
SAME_SIZE = 0.06  # relative difference
MAX_CHARS = 140
MAX_ROWS = 3
_NUMBERED = re.compile(
    r"(?:(?P<decimal>\d{1,2}(?:\.\d{1,2}){0,4})[.、\s]\s*|第[0-9一二三四五六七八九十百]{1,4}(?P<part>[章篇编节])\s*"
    r"|(?P<first>[一二三四五六七八九十]{1,3})、|[(（](?P<second>[一二三四五六七八九十]{1,3})[)）]"
    r"|(?:annex|appendix|chapter|section|附录)\s+\S+)(?=\S|$)",
    re.IGNORECASE,
)
_NO_HEADING = re.compile(r"@|https?://|(?:[,，][^,，]*){4}|^[(（].*[)）]$")  # addresses, enumerations, remarks
_UNFINISHED = "。，,;；、.!！?？：:-"


@dataclass(frozen=True, slots=True)
class HeadingSizes:
    """The font size of the running text, and larger ones, largest first."""

    body: float
    larger: tuple[float, ...]

    def level(self, paragraph: Paragraph) -> int:
        """1 to 6 for a heading, 0 for other text."""
        if not _may_be_heading(paragraph):
            return 0
        depth = numbering_depth(paragraph.text)
        for rank, size in enumerate(self.larger, 1):
            if _same(paragraph.size, size):
                return min(rank + max(depth - 1, 0), 6)
        if paragraph.size < (1 - SAME_SIZE) * self.body:
            return 0
        if (paragraph.bold and len(paragraph.text) <= 90) or (depth and _is_plain_heading(paragraph)):
            return min(len(self.larger) + max(depth, 1), 6)
        return 0


def heading_sizes(paragraphs: Iterable[Paragraph]) -> HeadingSizes:
    """Measure a document: the body size is the one in which most characters are set."""
    chars: Counter[float] = Counter()
    headings: Counter[float] = Counter()
    for paragraph in paragraphs:
        chars[round(paragraph.size, 1)] += len(paragraph.text)
        if _may_be_heading(paragraph):
            headings[round(paragraph.size, 1)] += 1
    body = chars.most_common(1)[0][0] if chars else 0.0
    larger: list[float] = []
    for size in sorted(headings, reverse=True):
        if size >= LARGER * body and not any(_same(size, known) for known in larger):
            larger.append(size)
    return HeadingSizes(body, tuple(larger))


def numbering_depth(text: str) -> int:
    """1 for "3 Scope", "第三章" and "三、", 2 for "3.1", "第一节" and "（一）" and so on; 0 without a number."""
    found = _NUMBERED.match(text)
    if found is None:
        return 0
    if found["decimal"]:
        return found["decimal"].count(".") + 1
    return 2 if found["second"] or found["part"] == "节" else 1


def _may_be_heading(paragraph: Paragraph) -> bool:
    text = paragraph.text
    return (
        len(paragraph.rows) <= MAX_ROWS
        and len(text) <= MAX_CHARS
        and sum(char.isalpha() for char in text) >= max(2, 0.3 * len(text))
        and text[-1] not in "。，,;；、"
        and not _NO_HEADING.search(text)
        and not paragraph.is_item
    )


def _is_plain_heading(paragraph: Paragraph) -> bool:
    """A numbered line in the body's own font: short, on one row, no sentence, and not "1." of a list."""
    text = paragraph.text
    listed = re.match(r"\d{1,2}[.、)]\s", text) is not None
    return len(paragraph.rows) == 1 and len(text) <= 45 and text[-1] not in _UNFINISHED and not listed


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= SAME_SIZE * other


def title_of(sizes: HeadingSizes, first_page: Sequence[Paragraph]) -> str:
    """The largest heading of the first page."""
    headings = [paragraph for paragraph in first_page if sizes.level(paragraph)]
    return max(headings, key=lambda paragraph: paragraph.size).text if headings else ""
