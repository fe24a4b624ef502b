"""Quoted answers in the forms that people ask for: a short one, and one of nothing but quotations."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ragcore.text.code_blocks import CodeBlock, is_block, text_parts

SHORT_SENTENCES = 2
_MARKERS = re.compile(r"(?:\s?\[\d{1,3}\])+")
_ITEM = re.compile(r"(?P<mark>\s*(?:[-*]|\d{1,3}\.)\s+)(?P<text>.*)")
_HEADING = re.compile(r"\*\*[^*]+\*\*|#{1,6}\s.*")
_BOLD = re.compile(r"(?<!`)\*\*(?=[^\s*])([^*\n`]+?)(?<=[^\s*])\*\*(?!`)")
_MARKER_LINE = re.compile(r"\n?(?:\[\d{1,3}\])+[ \t]*(?:\n|\Z)")
_FENCE = "```"
_MARKER = re.compile(r"\s?\[\d{1,3}\]")


def shortened(text: str, worth: Callable[[str], float] = len) -> str:
    """The answer without its further points: the best sentences, of each point of a list the first one.

    `worth`: how well a sentence answers, higher is better; it gets sentences without marks.
    """
    shortened_blocks: list[str] = []
    for block in _blocks(text):
        if _HEADING.fullmatch(block):
            if shortened_blocks:
                break  # what follows are further points
            continue
        lines = block.splitlines()
        if _is_table(lines) or block.startswith(_FENCE):
            shortened_blocks.append(block)
        elif all(_ITEM.match(line) for line in lines):
            shortened_blocks.append("\n".join(map(_first_of_item, lines)))
        elif not shortened_blocks:
            shortened_blocks.append(_best(_cited(block), worth))
    return "\n\n".join(shortened_blocks) or text


def quoted(text: str) -> str:
    """Every sentence as a quotation of its own with its source, in order; headings and emphasis are left out."""
    quotations: list[str] = []
    for block in _blocks(text):
        lines = block.splitlines()
        if _is_table(lines) or block.startswith(_FENCE):
            quotations.append(block)
        elif not _HEADING.fullmatch(block):
            plain = "\n".join(match["text"] if (match := _ITEM.match(line)) else line for line in lines)
            quotations += [f"> {sentence}" for sentence in _cited(_BOLD.sub(r"\1", plain))]
    return "\n\n".join(quotations) or text


def _blocks(text: str) -> list[str]:
    """What stands between blank lines, in order; a block of code is whole, with the line of its marker."""
    blocks: list[str] = []
    for part in text_parts(text):
        if isinstance(part, CodeBlock):
            blocks.append(part.markdown)
            continue
        marker = _MARKER_LINE.match(part) if blocks and is_block(blocks[-1]) else None
        if marker is not None:
            blocks[-1] += f"\n{marker[0].strip()}"
        words = part[marker.end() :] if marker is not None else part
        blocks += [block.strip() for block in words.split("\n\n") if block.strip()]
    return blocks


def _is_table(lines: Sequence[str]) -> bool:
    return lines[0].lstrip().startswith("|")


def _cited(text: str) -> list[str]:
    """The sentences, each with its markers; what follows the last marker is left out."""
    sentences, start = [], 0
    for markers in _MARKERS.finditer(text):
        if markers.start() > 0:
            sentences.append(" ".join(text[start : markers.end()].split()))
            start = markers.end()
    return sentences or [text]


def _first_of_item(line: str) -> str:
    match = _ITEM.match(line)
    return f"{match['mark']}{_cited(match['text'])[0]}" if match else line


def _best(sentences: Sequence[str], worth: Callable[[str], float]) -> str:
    """The best sentences in their order; one less than there are, so that the text is a shorter one."""
    most = max(1, min(SHORT_SENTENCES, len(sentences) - 1))
    plain = [_BOLD.sub(r"\1", _MARKER.sub("", sentence)).strip() for sentence in sentences]
    ranked = sorted(range(len(sentences)), key=lambda at: -worth(plain[at]))[:most]
    gap = "" if any("\u4e00" <= char <= "\u9fff" for char in sentences[0][:20]) else " "
    return gap.join(sentences[at] for at in sorted(ranked))
