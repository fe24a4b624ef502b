"""The Markdown of a chunk as blocks again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragcore.types import Block, BlockKind

_HEADING = re.compile(r"(#{1,6})\s+(\S[^\n]*)")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_ITEM = re.compile(r"\s*(?:[-*+•]\s|\d{1,3}[.)、])")
_FENCES = ("```", "~~~", "$$")


def markdown_blocks(text: str) -> list[Block]:
    """Blocks in order, as chunking joined them: separated by blank lines, code and formulas whole."""
    return [_block(part) for part in _parts(text)]


def _parts(text: str) -> Iterator[str]:
    """Runs of lines without a blank one, except inside fences."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = next((known for known in _FENCES if line.lstrip().startswith(known)), "")
        if not fence and not line.strip():
            if lines:
                yield "\n".join(lines)
            lines = []
            continue
        if fence:
            fence = "" if mark == fence or line.rstrip().endswith(fence) else fence
        elif mark and not (mark == "$$" and line.strip().endswith("$$") and len(line.strip()) > 2):
            fence = mark
        lines.append(line)
    if lines:
        yield "\n".join(lines)


def _block(part: str) -> Block:
    heading = _HEADING.fullmatch(part)
    return (
        Block(kind="heading", text=heading[2], level=len(heading[1])) if heading else Block(kind=_kind(part), text=part)
    )


def _kind(part: str) -> BlockKind:
    begun = part.lstrip()
    if begun.startswith(("```", "~~~")):
        return "code"
    if begun.startswith("$$"):
        return "formula"
    if begun.startswith("|") and "\n" in begun:
        return "table"
    if _IMAGE.match(begun):
        return "image"
    return "list" if _ITEM.match(part) else "paragraph"
