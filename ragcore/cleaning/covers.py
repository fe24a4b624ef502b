"""A cover: the first page of a longer document that holds names, dates and numbers, but no text (D24)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.types import Block

MIN_PAGES = 3  # a short document has no cover; its first page is what it says
MAX_BLOCKS = 15
MAX_CHARACTERS = 600
MAX_LINE = 120  # characters; a longer line is prose

_KINDS = frozenset({"heading", "paragraph", "image"})
_SENTENCE_END = re.compile(r"[。！？；]\s*$|(?:\S+ +){4}.*[a-z]{2}[.!?]\s*$", re.MULTILINE)


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
    return all(block.kind in _KINDS and not _is_prose(block.text) for block in cover)


def _is_prose(text: str) -> bool:
    return any(len(line) > MAX_LINE for line in text.split("\n")) or _SENTENCE_END.search(text) is not None
