"""Sentences in windows of their neighbours, so that the vector of each one knows what is said around it.

Late chunking (Günther et al. 2024, arXiv 2409.04701): a model reads several sentences at once, and the vector of one is
the mean of its tokens' states. Windows are short and begin with the head that the sentences stand under: in longer ones
neighbours become alike (decision 050).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

WINDOW_TOKENS = 64  # with the head, from which on no further sentence is taken in
HEAD_TOKENS = 32  # of a long head


@dataclass(frozen=True, slots=True)
class Span:
    """Where the tokens of a sentence stand in a window."""

    sentence: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens of a head and of the sentences behind it."""

    tokens: tuple[int, ...]
    spans: tuple[Span, ...]


def windows_of(heads: Sequence[Sequence[int]], sentences: Sequence[Sequence[int]], *, most: int) -> Iterator[Window]:
    """Sentences in their order, each in one window, neighbours under one head together.

    `heads`, `sentences`: tokens. A sentence that does not fit into `most` tokens is cut; one without a token takes
    those of its head.
    """
    at = 0
    while at < len(sentences):
        head = tuple(heads[at][:HEAD_TOKENS])
        tokens = list(head)
        spans: list[Span] = []
        while at < len(sentences) and heads[at] == heads[at - len(spans)]:
            room = (most if not spans else WINDOW_TOKENS) - len(tokens)
            if spans and len(sentences[at]) > room:
                break
            ids = sentences[at][:room]
            spans.append(Span(at, len(tokens), len(tokens) + len(ids)) if ids else Span(at, 0, len(head)))
            tokens += ids
            at += 1
        yield Window(tuple(tokens), tuple(spans))
