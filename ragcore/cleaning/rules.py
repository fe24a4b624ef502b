"""Cleaning rules for text (plain letters, white space) and for blocks (contents, covers, side notes)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby

from ragcore.text.normalise import remove_unseen
from ragcore.types import Block, Box

_KEPT = frozenset("，。？！：；（）【】《》〈〉「」『』、…—～“”‘’￥·")
_KEPT_FORMS = frozenset({"<super>", "<sub>", "<circle>", "<fraction>"})
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_LINE_BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Bullets of symbol fonts (Wingdings, Symbol), which stand in the private area
_PRIVATE_BULLETS = re.compile("[\uf06c\uf06e\uf071\uf075\uf076\uf077\uf0a7\uf0a8\uf0b7\uf0d8\uf0e0\uf0fc]")
# Radicals that PDF writers put in place of the characters they look like, and that Unicode does not decompose
_RADICALS = str.maketrans(
    "⼾⺠⺟⻁⻄⻅⻆⻉⻋⻌⻍⻎⻓⻔⻘⻙⻚⻛⻜⻝⻢⻣⻤⻥⻦⻨⻩⻬⻮⻰⻳",
    "户民母虎西见角贝车辶辶辶长门青韦页风飞食马骨鬼鱼鸟麦黄齐齿龙龟",
)
_CLOCK = re.compile(r"(?<=[0-9])：(?=[0-9])")
_SUSPICIOUS = re.compile(
    "[\u0080-\u00ff\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u203a\u20ac\u2122]{2,}"
)
_TAB = re.compile(r"(?<! )[ ]*\t[ \t]*")
# Line breaks that some program wrote as backslash and letter; "\\n" alone may be part of a path
_ESCAPED_BREAK = re.compile(r"(?:\\r\\n(?:\\t)*)+")
_SPACES = re.compile(r"(?<=\S)[ \u3000]{2,}(?=\S)")
_TRAILING = re.compile(r"(?<![ \t\u3000])[ \t\u3000]+$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")
_BESIDE_CJK_STOP = re.compile(
    r"(?<=[，。？！：；、）】》」』”]) +(?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff]) +(?=[，。？！：；、）】》」』])"
)
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_DATE = rf"(?:\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{2,4}}|{_MONTH}\s+\d{{1,2}})"
_TIME = r"\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,9})?(?:\s?(?:Z|[+-]\d{2}:?\d{2}))?"
_STAMP = re.compile(rf"^[ \t]*\[?(?:{_DATE}[T ,]?\s*)?{_TIME}\]?[ \t]*(?:[-:|][ \t]+)?", re.MULTILINE)

# "1.2 Scope ........ 12", also with "…" or "· · ·"
_LEADER = re.compile(
    r"^.{1,160}?(?:[.．·•…_]{4,}+|(?:[.．·•…]\s){3,}+|…{2,}+|\.{2,}+(?=\s*+\d))[.．·•…\s]*+"
    r"(?:\d{1,4}|[ivxlc]{1,7})\s*+\|?\s*+$",
    re.I,
)
_ENTRY = re.compile(r"^.{1,160}?[\s.．·•…]\s*+(?:\d{1,4}|[ivxlc]{1,7})\s*+\|?\s*+$", re.IGNORECASE)
_HEADING = re.compile(
    r"(?:\d[\d.]*\s+)?(?:table\s+of\s+contents|contents|(?:list|table|index)\s+of\s+(?:figures|tables)"
    r"|[图圖表]?\s*目\s*[录錄次]|(?:插[图圖]|[图圖]表|附[图圖])(?:清[单單]|索引|目[录錄]))",
    re.IGNORECASE,
)
_CONTENTS_KINDS = frozenset({"paragraph", "list", "table", "heading"})
MIN_PAGES = 3  # a short document has no cover; its first page is what it says
MAX_BLOCKS = 15
MAX_CHARACTERS = 600
MAX_LINE = 120  # characters; a longer line is prose
_COVER_KINDS = frozenset({"heading", "paragraph", "image"})
_SENTENCE_END = re.compile(r"[。！？；]\s*$|(?:\S+ +){4}.*[a-z]{2}[.!?]\s*$", re.MULTILINE)
MIN_BLOCKS = 3  # of the text beside them
MIN_CHARACTERS = 400
MAX_SHARE = 0.1  # of the characters of the page
MAX_WIDTH = 0.25  # of the width of the text
_SIDE_NOTE_KINDS = frozenset({"paragraph", "heading"})


def normalise_characters(text: str) -> str:
    """NFKC except for what would change the meaning or the look of Chinese text."""
    text = unicodedata.normalize("NFC", text.translate(_RADICALS))
    foreign = {char for char in text if char >= "\x80"}
    table = {ord(char): plain for char in foreign if (plain := _plain(char)) != char}
    if table:
        text = unicodedata.normalize("NFC", text.translate(table))
    return _CLOCK.sub(":", text)


@lru_cache(maxsize=8192)
def _plain(char: str) -> str:
    if char in _KEPT:
        return char
    form = unicodedata.decomposition(char)
    if not form.startswith("<") or form.partition(" ")[0] in _KEPT_FORMS:
        return char
    return "".join(_plain(chr(int(code, 16))) for code in form.split()[1:])


def remove_invisible(text: str) -> str:
    """Without control and zero-width characters; every kind of line break becomes a newline."""
    text = _LINE_BREAKS.sub("\n", text)
    text = _PRIVATE_BULLETS.sub("•", text)
    return remove_unseen(_CONTROL.sub("", text))


def repair_mojibake(text: str) -> str:
    """Repairs stretches that are valid UTF-8 when their characters are taken as bytes; correct text never is."""
    return _SUSPICIOUS.sub(_repair, text)


def _repair(match: re.Match[str]) -> str:
    try:
        return b"".join(map(_byte, match[0])).decode("utf-8")
    except UnicodeError:
        return match[0]


def _byte(char: str) -> bytes:
    """Windows-1252, where the five bytes that it leaves open stand for themselves."""
    try:
        return char.encode("cp1252")
    except UnicodeEncodeError:
        return char.encode("latin-1")


def tidy_whitespace(text: str) -> str:
    """One space where there were many, at most one blank line; the indentation of lines stays.

    Spaces beside Chinese punctuation are left over from type-setting and go.
    """
    text = _ESCAPED_BREAK.sub("\n", text)
    text = _TAB.sub(lambda match: _expand_tab(text, match), text)
    text = _SPACES.sub(" ", _TRAILING.sub("", text))
    return _BLANK_LINES.sub("\n\n", _BESIDE_CJK_STOP.sub("", text)).strip("\n")


def tidy_code(text: str) -> str:
    """Code keeps its white space, except behind the last character of a line."""
    return _TRAILING.sub("", text).strip("\n")


def _expand_tab(text: str, match: re.Match[str]) -> str:
    """A tab at the beginning of a line indents, anywhere else it separates."""
    at_line_start = match.start() == 0 or text[match.start() - 1] == "\n"
    return match[0].replace("\t", "    ") if at_line_start else " "


def strip_log_timestamps(text: str) -> str:
    """Lines without the time at which they were written; lines that do not begin with one stay."""
    return _STAMP.sub("", text)


def drop_contents(blocks: Sequence[Block]) -> Iterator[Block]:
    """Blocks without tables of contents; a block that only holds such lines goes, others lose these lines."""
    index = 0
    while index < len(blocks):
        block = blocks[index]
        end = _end_of_contents(blocks, index)
        if end is not None:
            index = end
            continue
        if block.kind in _CONTENTS_KINDS:
            lines = block.text.split("\n")
            text_lines = [line for line in lines if not _LEADER.match(line)]
            if len(text_lines) < len(lines):
                block = replace(block, text="\n".join(text_lines))
        if block.text.strip():
            yield block
        index += 1


def _end_of_contents(blocks: Sequence[Block], index: int) -> int | None:
    """Index behind the entries that follow a heading "Contents"; None where there is no such list."""
    if not _HEADING.fullmatch(blocks[index].text.strip().strip("*_")) or blocks[index].kind not in _CONTENTS_KINDS:
        return None
    end = index + 1
    while end < len(blocks) and _is_entries(blocks[end]):
        end += 1
    return end if end > index + 2 or (end > index + 1 and "\n" in blocks[index + 1].text) else None


def _is_entries(block: Block) -> bool:
    """Whether nearly every line ends with a page number."""
    if block.kind not in _CONTENTS_KINDS or (block.kind == "heading" and not _ENTRY.match(block.text)):
        return False
    lines = [line for line in block.text.split("\n") if line.strip() and not re.fullmatch(r"[|\s:-]+", line)]
    return bool(lines) and sum(_ENTRY.match(line) is not None for line in lines) >= 0.8 * len(lines)


def drop_cover(blocks: Sequence[Block]) -> list[Block]:
    """Blocks without those of a cover; its largest heading stays, as the title that the rest stands under."""
    cover = [block for block in blocks if block.page == 1]
    if not _is_cover(cover, blocks):
        return list(blocks)
    headings = [block for block in cover if block.kind == "heading"]
    title = min(headings, key=lambda block: block.level, default=None)
    return [block for block in blocks if block.page != 1 or block is title]


def _is_cover(cover: Sequence[Block], blocks: Sequence[Block]) -> bool:
    last = max((block.page for block in blocks if block.page is not None), default=0)
    if last < MIN_PAGES or not 0 < len(cover) <= MAX_BLOCKS or blocks[0].page != 1:
        return False
    if sum(len(block.text) for block in cover) > MAX_CHARACTERS:
        return False
    return all(block.kind in _COVER_KINDS and not _is_prose(block.text) for block in cover)


def _is_prose(text: str) -> bool:
    return any(len(line) > MAX_LINE for line in text.split("\n")) or _SENTENCE_END.search(text) is not None


def drop_side_notes(blocks: Sequence[Block]) -> list[Block]:
    """Blocks without narrow ones that stand wholly left or right of everything else on their page.

    Only where the page has text enough to tell: a form or a slide of small boxes stays as it is.
    """
    main_blocks: list[Block] = []
    for _, group in groupby(blocks, key=lambda block: block.page):
        page = list(group)
        notes = set(map(id, _notes(page)))
        main_blocks += [block for block in page if id(block) not in notes]
    return main_blocks


def _notes(page: Sequence[Block]) -> Iterator[Block]:
    """The side notes of one page."""
    placed = [(block, block.box) for block in page if block.box is not None]
    total = sum(len(block.text) for block, _ in placed)
    for place in _columns([box for _, box in placed]):
        inside = [block for block, box in placed if place[0] <= box.x0 and box.x1 <= place[1]]
        outside = [(block, box) for block, box in placed if not (place[0] <= box.x0 and box.x1 <= place[1])]
        if _is_margin(place, inside, outside, total):
            yield from inside


def _is_margin(
    place: tuple[float, float], inside: Sequence[Block], outside: Sequence[tuple[Block, Box]], total: int
) -> bool:
    """Whether a column is a margin: little text, narrow, outside of all others."""
    if len(outside) < MIN_BLOCKS or sum(len(block.text) for block, _ in outside) < MIN_CHARACTERS:
        return False
    left, right = min(box.x0 for _, box in outside), max(box.x1 for _, box in outside)
    if not (place[1] <= left or place[0] >= right):
        return False
    is_narrow = place[1] - place[0] <= MAX_WIDTH * (right - left)
    is_little = sum(len(block.text) for block in inside) <= MAX_SHARE * total
    return is_narrow and is_little and all(block.kind in _SIDE_NOTE_KINDS for block in inside)


def _columns(boxes: Sequence[Box]) -> list[tuple[float, float]]:
    """Stretches of the page's width that boxes cover together, from left to right."""
    columns: list[tuple[float, float]] = []
    for box in sorted(boxes, key=lambda box: box.x0):
        if columns and box.x0 <= columns[-1][1]:
            columns[-1] = (columns[-1][0], max(columns[-1][1], box.x1))
        else:
            columns.append((box.x0, box.x1))
    return columns
