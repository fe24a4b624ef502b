"""Long definitions of source code to blocks that each fit into a chunk, cut between statements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ragcore.ports import TokenCounter
from ragcore.text.source_code import fence_source, is_source, signature_of, source_lines
from ragcore.types import Block

LEAST_SHARE = 1 / 3  # of the room in a part is used at least, for the sake of a better border
FENCE_TOKENS = 16  # the two lines around code, at most
_CLOSING = re.compile(r"\s*(?:[)\]}]|(?:else|elif|except|finally|catch|case|default|end|fi|done|esac)\b)")


def cut_source(blocks: Sequence[Block], counter: TokenCounter, limit: int) -> list[Block]:
    """The blocks, with source code of more than `limit` tokens as several: each says which lines it holds.

    Code is cut before the least indented of its statements, inside of one only where it is too long itself, and never
    within a line. The parts behind the first one begin with the line that has the signature.
    """
    return [part for block in blocks for part in _parts(block, counter, limit)]


def has_source(blocks: Sequence[Block]) -> bool:
    """Whether some of the blocks are lines of a source file."""
    return any(block.kind == "code" and is_source(block.text) for block in blocks)


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    tokens: int
    indent: int  # of blank lines that of the line behind them


def _parts(block: Block, counter: TokenCounter, limit: int) -> Iterator[Block]:
    if block.kind != "code" or not is_source(block.text) or counter.count(block.text) <= limit:
        yield block
        return
    for source in source_lines(block.text):
        signature = signature_of(source.code)
        room = max(limit - counter.count(signature) - FENCE_TOKENS, limit // 2)
        lines = _lines(source.code, counter)
        first = source.first
        for start, end in _ranges(lines, 0, len(lines), room):
            code = "\n".join(line.text for line in lines[start:end])
            text = fence_source(code, language=source.language, first=first + start, last=first + end - 1)
            if start and signature:
                opening, _, rest = text.partition("\n")
                text = f"{opening}\n{signature}\n{rest}"
            yield replace(block, text=text)


def _lines(code: str, counter: TokenCounter) -> list[_Line]:
    lines: list[_Line] = []
    indent = 0
    for text in reversed(code.split("\n")):
        if text.strip():
            indent = len(text) - len(text.lstrip())
        lines.append(_Line(text, counter.count(text) + 1, indent))
    return lines[::-1]


def _ranges(lines: Sequence[_Line], start: int, end: int, room: int) -> Iterator[tuple[int, int]]:
    """Neighbouring ranges of lines, as many statements in each as fit; a line of more than `room` has its own."""
    while start < end:
        size, stop = lines[start].tokens, start + 1
        while stop < end and size + lines[stop].tokens <= room:
            size += lines[stop].tokens
            stop += 1
        border = end if stop == end else _border(lines, start, stop, size, least=room * LEAST_SHARE)
        yield start, border
        start = border


def _border(lines: Sequence[_Line], start: int, stop: int, size: int, *, least: float) -> int:
    """The row before which to cut, `stop` or above it: of the least indented statements behind `least` tokens the last.

    `size`: tokens of the lines from `start` to `stop`, exclusive.
    """
    border, depth = stop, None
    for row in range(stop, start, -1):
        size -= lines[row].tokens if row < stop else 0
        if size < least:
            break
        line = lines[row]
        begins = line.text.strip() and not _CLOSING.match(line.text)
        if begins and (depth is None or line.indent < depth):
            border, depth = row, line.indent
    return border
