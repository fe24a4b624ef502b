"""Tables of contents: lines with dot leaders, and what follows a heading "Contents" (D24)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragcore.types import Block

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
_KINDS = frozenset({"paragraph", "list", "table", "heading"})


def drop_contents(blocks: Sequence[Block]) -> Iterator[Block]:
    """Blocks without tables of contents; a block that only holds such lines goes, others lose these lines."""
    index = 0
    while index < len(blocks):
        block = blocks[index]
        end = _end_of_contents(blocks, index)
        if end is not None:
            index = end
            continue
        if block.kind in _KINDS:
            lines = block.text.split("\n")
            kept = [line for line in lines if not _LEADER.match(line)]
            if len(kept) < len(lines):
                block = replace(block, text="\n".join(kept))
        if block.text.strip():
            yield block
        index += 1


def _end_of_contents(blocks: Sequence[Block], index: int) -> int | None:
    """Index behind the entries that follow a heading "Contents"; None where there is no such list."""
    if not _HEADING.fullmatch(blocks[index].text.strip().strip("*_")) or blocks[index].kind not in _KINDS:
        return None
    end = index + 1
    while end < len(blocks) and _is_entries(blocks[end]):
        end += 1
    return end if end > index + 2 or (end > index + 1 and "\n" in blocks[index + 1].text) else None


def _is_entries(block: Block) -> bool:
    """Whether nearly every line ends with a page number."""
    if block.kind not in _KINDS or (block.kind == "heading" and not _ENTRY.match(block.text)):
        return False
    lines = [line for line in block.text.split("\n") if line.strip() and not re.fullmatch(r"[|\s:-]+", line)]
    return bool(lines) and sum(_ENTRY.match(line) is not None for line in lines) >= 0.8 * len(lines)
