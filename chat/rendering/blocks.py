"""A growing Markdown text in finished blocks and an unfinished tail, for answers that are shown as they are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markdown_it.token import Token

from chat.rendering.effort import Effort, TooMuchError
from chat.rendering.markdown import markdown_parser

GROWTH = 8  # a tail in which no block ended is read again when it has grown by this part
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")  # as markdown-it counts lines; str.splitlines knows more ends
_LINE_END = re.compile(r"\r\n?")
_NEW_BLOCK = re.compile(r"\n[ \t]*\n[^\s>*+\-|0-9]")  # a paragraph or a heading behind an empty line


@dataclass(slots=True)
class BlockStream:
    """Feed the pieces of a text, get the top-level blocks that no further text can change.

    Reading the tail takes time in proportion to it. It is read again where a block probably ends, and otherwise when
    it has grown by a part, so that a text of n characters costs a few times n, however it is cut.
    """

    tail: str = ""
    is_due: bool = False  # whether reading the tail may give blocks
    _enough: int = 0  # characters of the tail from which it is read again
    _is_guessing: bool = True  # whether an empty line counts as the end of a block: not after a wrong guess

    def feed(self, text: str) -> list[str]:
        """The blocks that are complete with this piece."""
        self.add(text)
        if not self.is_due:
            return []
        blocks, rest = finished_blocks(self.tail)
        self.cut(rest)
        return blocks

    def add(self, text: str) -> None:
        """Put a piece behind the tail. Cheap; `is_due` says whether `finished_blocks` is worth its time."""
        start = max(len(self.tail) - 2, 0)
        self.tail += text
        is_guess = self._is_guessing and _NEW_BLOCK.search(self.tail, start) is not None
        self.is_due = self.is_due or is_guess or ("\n" in text and len(self.tail) >= self._enough)

    def cut(self, rest: str) -> None:
        """What `finished_blocks` left of the tail, before anything else is added."""
        self._is_guessing = len(rest) < len(self.tail) or len(self.tail) >= self._enough
        self._enough = len(rest) + len(rest) // GROWTH
        self.tail, self.is_due = rest, False


def finished_blocks(text: str) -> tuple[list[str], str]:
    """The source of each complete top-level block, and the rest, which is all of a text with too many levels.

    Computes for up to some tenths of a second: call it in a thread.
    """
    try:
        starts = [
            token.map[0] for token in _block_tokens(text) if token.level == 0 and token.map and token.nesting >= 0
        ]
    except (TooMuchError, RecursionError):
        return [], text
    if len(starts) < 2:
        return [], text
    lines = _LINE.findall(text)
    blocks = ["".join(lines[a:b]) for a, b in zip(starts, starts[1:], strict=False)]
    return [block for block in blocks if block.strip()], "".join(lines[starts[-1] :])


def _block_tokens(text: str) -> Sequence[Token]:
    """Blocks without what stands in their lines."""
    tokens: list[Token] = []
    parser = markdown_parser()
    parser.block.parse(_LINE_END.sub("\n", text), parser, {"effort": Effort()}, tokens)
    return tokens
