"""Rows of PDF text to paragraphs, list items and headings.

Headings are told by font size, weight and numbering.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from statistics import median

from ragcore.parsing.pdf.layout import CJK, Row

SPACING = 1.35  # times the usual distance of rows: a new paragraph
SIZE_CHANGE = 0.12  # relative
BULLET = re.compile(r"[•●▪■◆◦‣⁃∙▶►➢➤✓✔\uf0b7\uf06c\uf0a7\uf0d8\uf0fc]\s*|[-–—*·]\s+")
_ITEM = re.compile(r"(?:\(?[0-9]{1,2}[.)）](?!\d)|[(（][0-9a-zA-Z一二三四五六七八九十]{1,3}[)）]|[①-⑳])\s*(?=\S)")
PROSE_CHARS = 40
_FIELD = re.compile(r"[^\W\d_][\w ()（）/-]{1,18}[:：]\s*\S")  # "Valid until: 3 March"
_OPEN_RANGE = re.compile(r"\d\s*[–—~～-]\Z")  # "70–" at the end of a line
_PUNCTUATION = re.compile("[，。；]")
_CJK_SPACE = re.compile(r"(?<=[\u2e80-\uffef]) +(?=[\u2e80-\uffef])")
_STRAY_SPACE = re.compile(r"(?<=\S) (?=[,;](?:\s|$))")  # behind a raised number or mark
_COMPOUND = re.compile(r"(?<![^\W\d_])[^\W\d_]++-[^\W\d_]+")
_LAST_WORD = re.compile(r"(?<!\w)\w+-$")
_FIRST_WORD = re.compile(r"^[^\W\d_]+|^\w+")
_TERMINAL = "。！？.!?:：;；…”』」）)"
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
    if goes_on_with_range(before.text, row.text):
        return False
    if row.y1 - before.y1 > SPACING * pitch * row.size or row.y0 < before.y0:
        return True
    if BULLET.match(row.text) or _ITEM.match(row.text):
        return True
    if _FIELD.match(row.text) and _FIELD.match(current[0].text):
        return True  # a form: one field a line
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
        text = join_lines(text, row.text, compounds)
    if len(text) > PROSE_CHARS and _PUNCTUATION.search(text):
        text = _CJK_SPACE.sub("", text)  # spaces that stretch a line; Chinese prose has none
    text = _STRAY_SPACE.sub("", text)
    longest = max(rows, key=lambda row: len(row.text))
    return Paragraph(text, tuple(rows), longest.size, all(row.bold for row in rows))


def join_lines(before: str, line: str, compounds: Set[str] = frozenset()) -> str:
    """Two lines of one paragraph: no space where Chinese meets, a hyphen at the line end taken out.

    Words of `compounds` are written with their hyphen elsewhere too, and keep it.
    """
    if not before or not line:
        return before + line
    if before.endswith("-") and len(before) > 1 and before[-2].isalnum() and before[-2] < CJK and line[0].isalnum():
        whole = f"{_LAST_WORD.findall(before)[-1]}{_FIRST_WORD.findall(line)[0]}".lower()
        keeps = not (before[-2].isalpha() and line[0].islower()) or whole in compounds
        return before + line if keeps else before[:-1] + line
    is_close = before[-1] >= CJK or line[0] >= CJK or goes_on_with_range(before, line)
    return before + line if is_close else f"{before} {line}"


def goes_on_with_range(before: str, line: str) -> bool:
    """Whether a line begins with the end of a range that the one before it opens: "70–", "84 points"."""
    return line[:1].isdigit() and _OPEN_RANGE.search(before) is not None


def hyphenated_words(texts: Iterable[str]) -> frozenset[str]:
    """Words with a hyphen inside, lower case, as "dual-encoder"."""
    return frozenset(word.lower() for text in texts if "-" in text for word in _COMPOUND.findall(text))


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
            if _is_same_size(paragraph.size, size):
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
        if size >= LARGER * body and not any(_is_same_size(size, larger_size) for larger_size in larger):
            larger.append(size)
    return HeadingSizes(body, tuple(larger))


def numbering_depth(text: str) -> int:
    """1 for "3 Scope", "第三章" and "三、", 2 for "3.1", "第一节" and "（一）" and so on; 0 without a number."""
    match = _NUMBERED.match(text)
    if match is None:
        return 0
    if match["decimal"]:
        return match["decimal"].count(".") + 1
    return 2 if match["second"] or match["part"] == "节" else 1


def _may_be_heading(paragraph: Paragraph) -> bool:
    text = paragraph.text
    return (
        len(paragraph.rows) <= MAX_ROWS
        and len(text) <= MAX_CHARS
        and sum(char.isalpha() for char in text) >= max(2, 0.3 * len(text))
        and text[-1] not in "。，,;；、"
        and not text.startswith("[^")  # a note
        and not _NO_HEADING.search(text)
        and not paragraph.is_item
    )


def _is_plain_heading(paragraph: Paragraph) -> bool:
    """A numbered line in the body's own font: short, on one row, no sentence, and not "1." of a list."""
    text = paragraph.text
    listed = re.match(r"\d{1,2}[.、)]\s", text) is not None
    return len(paragraph.rows) == 1 and len(text) <= 45 and text[-1] not in _UNFINISHED and not listed


def _is_same_size(size: float, other: float) -> bool:
    return abs(size - other) <= SAME_SIZE * other


def largest_heading(sizes: HeadingSizes, first_page: Sequence[Paragraph]) -> str:
    """The largest heading of the first page."""
    headings = [paragraph for paragraph in first_page if sizes.level(paragraph)]
    return max(headings, key=lambda paragraph: paragraph.size).text if headings else ""
