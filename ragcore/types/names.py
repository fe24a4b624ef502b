"""Names of documents in questions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NameMention:
    """A text in a question that may be a file name, a folder, or a part of them.

    A document is meant whose name has one of the keys; the first key that any name has counts. Without one, documents
    are near whose names have all of the words. `is_marked`: written as only names are (an ending, an underscore, a
    path, a number with a hyphen).
    """

    text: str
    keys: tuple[str, ...] = ()  # most specific first
    words: frozenset[str] = frozenset()
    is_marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedDocument:
    """A document that a question gives by its file name or folder."""

    document: int
    chunks: tuple[int, ...]  # its first passages
    name: str  # path and file name in words; empty where there are too many documents
    title: str
    place: int | None = None  # of the key that its name has, 0 for the most specific one; None: its name has all words
