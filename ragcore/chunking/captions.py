"""Which line names a table or a figure, and to which block it belongs (D11, D26)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ragcore.types import Block

CaptionKind = Literal["table", "figure"]

MAX_CHARACTERS = 200
_NUMBER = r"[A-Z]?[.\-‑–]?\d[\d.\-‑–]*[a-z]?"
_CAPTIONS: tuple[tuple[CaptionKind, re.Pattern[str]], ...] = (
    ("table", re.compile(rf"(?:(?i:table|tab\.)\s*{_NUMBER}|[表錶]\s*(?:{_NUMBER}|[一二三四五六七八九十]+))")),
    ("figure", re.compile(rf"(?:(?i:figure|fig\.)\s*{_NUMBER}|[图圖]\s*(?:{_NUMBER}|[一二三四五六七八九十]+))")),
)
# "Table 3 lists …" and "表3所示" are sentences about a table, not its name
_SENTENCE = re.compile(
    r"\s*(?:[所中给給列显顯描说說是为為可与與和及、，]|(?:and|shows?|lists?|gives?|contains?|presents?|illustrates?"
    r"|summari[sz]es?|describes?|depicts?|is|are|in|of|on)\b)"
)


@dataclass(frozen=True, slots=True)
class Captions:
    """What the captions of some blocks mean for chunk borders."""

    keeps_next: frozenset[int] = frozenset()  # blocks that no border may separate from the block behind them
    titles: dict[int, str] = field(default_factory=dict)  # table -> the caption in front of it


def caption_kind(text: str) -> CaptionKind | None:
    """What a line such as "Table 3: Timers" or "图 2 系统结构" names; None for anything else."""
    plain = text.strip().strip("*_ ")
    if "\n" in plain or len(plain) > MAX_CHARACTERS:
        return None
    for kind, pattern in _CAPTIONS:
        found = pattern.match(plain)
        if found and not _SENTENCE.match(plain, found.end()):
            return kind
    return None


def find_captions(blocks: Sequence[Block]) -> Captions:
    """Captions with their tables and images.

    A table's caption stands above it, or below where no table follows; a figure's below it, or above where no image
    precedes.
    """
    keeps_next: set[int] = set()
    titles: dict[int, str] = {}
    for index, block in enumerate(blocks):
        kind = caption_kind(block.text) if block.kind == "paragraph" else None
        if kind is None:
            continue
        before = blocks[index - 1].kind if index else None
        after = blocks[index + 1].kind if index + 1 < len(blocks) else None
        if kind == "table" and after == "table":
            keeps_next.add(index)
            titles[index + 1] = block.text.strip()
        elif before == ("table" if kind == "table" else "image"):
            keeps_next.add(index - 1)
        elif kind == "figure" and after == "image":
            keeps_next.add(index)
    return Captions(frozenset(keeps_next), titles)
