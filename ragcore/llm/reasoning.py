"""Tells the reasoning of a model that thinks before it answers from its answer.

Servers send it in a field of its own (`reasoning_content`, `reasoning`), or in front of the text between `<think>` and
`</think>`, as the chat templates of DeepSeek-R1 and Qwen3 have it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TAGS = ("think", "thinking", "reasoning")
_OPENING = re.compile(rf"\s*<({'|'.join(_TAGS)})>")
_MOST_BLANKS = 64  # that are held back in front of an answer


@dataclass(frozen=True, slots=True)
class Piece:
    """What came at a time: a part of the answer, a part of the reasoning, or both."""

    text: str = ""
    reasoning: str = ""

    def __bool__(self) -> bool:
        return bool(self.text or self.reasoning)


@dataclass(slots=True)
class ReasoningSplitter:
    """Feed the text as it comes. However it is cut, the pieces joined are the same.

    Only tags at the very beginning count: an answer may quote them. Reasoning that never ends is no answer.
    """

    _held: str = ""
    _closing: str = ""  # the tag that ends the reasoning under way
    _is_open: bool = False  # the answer has begun
    _strips: bool = False  # line breaks between the reasoning and the answer

    def feed(self, text: str) -> Piece:
        """What is certain after this part."""
        if self._is_open:
            return Piece(text=self._answer(text))
        self._held += text
        reasoning = ""
        if not self._closing:
            opening = _OPENING.match(self._held)
            if opening is None:
                return Piece() if self._may_open() else self._begin()
            self._closing, self._held = f"</{opening[1]}>", self._held[opening.end() :]
        reasoning, closing, rest = self._held.partition(self._closing)
        if closing:
            self._held, self._strips = rest, True
            return Piece(text=self._begin().text, reasoning=reasoning)
        uncertain = _beginning(self._held, self._closing)
        reasoning, self._held = self._held[: len(self._held) - uncertain], self._held[len(self._held) - uncertain :]
        return Piece(reasoning=reasoning)

    def flush(self) -> Piece:
        """The rest at the end of the stream."""
        if self._is_open or not self._held:
            return Piece()
        pending, self._held = self._held, ""
        return Piece(reasoning=pending) if self._closing else Piece(text=pending)

    def _may_open(self) -> bool:
        """Whether what came so far can still become an opening tag."""
        begun = self._held.lstrip()
        return len(self._held) <= _MOST_BLANKS and any(f"<{tag}>".startswith(begun) for tag in _TAGS)

    def _begin(self) -> Piece:
        self._is_open = True
        pending, self._held = self._held, ""
        return Piece(text=self._answer(pending))

    def _answer(self, text: str) -> str:
        text = text.lstrip() if self._strips else text
        self._strips = self._strips and not text
        return text


def _beginning(text: str, tag: str) -> int:
    """How many characters at the end of the text may become the tag."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)
