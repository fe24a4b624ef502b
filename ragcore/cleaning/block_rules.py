"""Cleaning rules for blocks: tables of contents, covers and side notes are dropped (D24)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from ragcore.types import Block, Box

# "1.2 Scope ........ 12", also with "…" or "· · ·"
_LEADER = re.compile(
    r"^.{1,160}?(?:[.．·•…_]{4,}|(?:[.．·•…]\s){3,}|…{2,}|\.{2,}(?=\s*\d))[.．·•…\s]*(?:\d{1,4}|[ivxlc]{1,7})\s*\|?\s*$",
    re.I,
)
_ENTRY = re.compile(r"^.{1,160}?[\s.．·•…]\s*(?:\d{1,4}|[ivxlc]{1,7})\s*\|?\s*$", re.IGNORECASE)
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
            kept = [line for line in lines if not _LEADER.match(line)]
            if len(kept) < len(lines):
                block = replace(block, text="\n".join(kept))
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
    kept: list[Block] = []
    for _, group in groupby(blocks, key=lambda block: block.page):
        page = list(group)
        notes = set(map(id, _notes(page)))
        kept += [block for block in page if id(block) not in notes]
    return kept


def _notes(page: Sequence[Block]) -> Iterator[Block]:
    """The side notes of one page."""
    placed = [(block, block.box) for block in page if block.box is not None]
    total = sum(len(block.text) for block, _ in placed)
    for place in _columns([box for _, box in placed]):
        inside = [block for block, box in placed if place[0] <= box.x0 and box.x1 <= place[1]]
        others = [(block, box) for block, box in placed if not (place[0] <= box.x0 and box.x1 <= place[1])]
        if _is_margin(place, inside, others, total):
            yield from inside


def _is_margin(
    place: tuple[float, float], inside: Sequence[Block], others: Sequence[tuple[Block, Box]], total: int
) -> bool:
    """Whether a column is a margin: little text, narrow, outside of all others."""
    if len(others) < MIN_BLOCKS or sum(len(block.text) for block, _ in others) < MIN_CHARACTERS:
        return False
    left, right = min(box.x0 for _, box in others), max(box.x1 for _, box in others)
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
