"""Tells the reasoning of a model that thinks before it answers from its answer.

Servers send it in a field of its own (`reasoning_content`, `reasoning`), or in front of the text between `<think>` and
`</think>`, as the chat templates of DeepSeek-R1 and Qwen3 have it. Where the template itself opens the reasoning, a
reply begins inside it, and only its end is told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TAGS = ("think", "thinking", "reasoning")
_OPENING = re.compile(rf"\s*<({'|'.join(_TAGS)})>")
_CLOSING = f"</{_TAGS[0]}>"
_TAG = re.compile(rf"</?{_TAGS[0]}>")
_MOST_BLANKS = 64  # that are held back in front of an answer


@dataclass(frozen=True, slots=True)
class Piece:
    """What came at a time: a part of the answer, of the reasoning, of calls of tools, or of several of them."""

    text: str = ""
    reasoning: str = ""
    call_characters: int = 0  # of calls of tools, which are told when they are whole

    def __bool__(self) -> bool:
        return bool(self.text or self.reasoning or self.call_characters)


@dataclass(slots=True)
class ReasoningSplitter:
    """Feed the text as it comes. However it is cut, the pieces joined are the same.

    Only tags at the very beginning count: an answer may quote them. Reasoning that never ends is no answer.

    `thinks_first`: the text begins inside the reasoning. Where it ends properly without the end of any, the model did
    not think, and all of it is the answer.
    """

    thinks_first: bool = False
    _held: str = ""
    _closing: str = ""  # the tag that ends the reasoning under way
    _is_open: bool = False  # the answer has begun
    _strips: bool = False  # line breaks between the reasoning and the answer
    _unclosed: str = ""  # what came of a text that began inside its reasoning
    _tail: str = ""  # of the answer, which may hold the beginning of a tag
    _tag: str = ""  # the first one in the answer

    @property
    def has_thought_first(self) -> bool:
        """Whether the reasoning ended that never began, in a text that was read as an answer."""
        return self._tag == _CLOSING

    def feed(self, text: str) -> Piece:
        """What is certain after this part."""
        if self._is_open:
            return Piece(text=self._answer(text))
        self._held += text
        reasoning = ""
        if not self._closing:
            opening = _OPENING.match(self._held)
            if opening is None and self._may_open():
                return Piece()
            if opening is None and not self.thinks_first:
                return self._begin()
            self._closing = _CLOSING if opening is None else f"</{opening[1]}>"
            self._held = self._held[0 if opening is None else opening.end() :]
            self.thinks_first = opening is None
        reasoning, closing, rest = self._held.partition(self._closing)
        if closing:
            self._held, self._strips, self._unclosed = rest, True, ""
            return Piece(text=self._begin().text, reasoning=reasoning)
        uncertain = _beginning(self._held, self._closing)
        reasoning, self._held = self._held[: len(self._held) - uncertain], self._held[len(self._held) - uncertain :]
        self._unclosed += reasoning if self.thinks_first else ""
        return Piece(reasoning=reasoning)

    def flush(self, *, is_whole: bool = False) -> Piece:
        """The rest at the end of the stream. `is_whole`: the model itself has ended it."""
        if self._is_open:
            return Piece()
        pending, self._held = self._held, ""
        if self.thinks_first and self._closing and is_whole:
            return Piece(text=self._unclosed + pending)
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
        if not self._closing and not self._tag:
            window = self._tail + text
            tag = _TAG.search(window)
            self._tag, self._tail = tag[0] if tag else "", window[-len(_CLOSING) :]
        return text


def answer_behind(text: str) -> str:
    """What a text says behind the end of the reasoning in which it began; all of it where none ends."""
    before, closing, answer = text.partition(_CLOSING)
    return answer.lstrip() if closing else before


def _beginning(text: str, tag: str) -> int:
    """How many characters at the end of the text may become the tag."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)
