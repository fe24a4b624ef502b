"""The sentences of numbered sources, ready to be chosen from (A4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragcore.ports import Tokenizer
from ragcore.text.sentences import split_sentences
from ragcore.types import Source

LONG_CHARS = 400  # columns; longer sentences are offered clause by clause

_HEADING = re.compile(r"\s*#{1,6}\s")
_RULE = re.compile(r"[\s|:\-=*_`~]+")
_MARKS = re.compile(
    r"^\s*(?:[-*+>]\s+|\d{1,3}[.)]\s+)+|`{1,3}|\*{2,3}|__|!?\[(?=[^\]]+\]\()|(?<=\w)\]\([^)\s]*\)|<[^>]{1,40}>"
)
_SECTION_NUMBER = re.compile(r"\s*\d+(?:\.\d+)+\s+\S.{0,80}")
_MARKER_LIKE = re.compile(r"\[(\d{1,3})\]")
_ENDS = re.compile(r"[。！？.!?;；:：…」』”\")）]\s*\Z")
_CLAUSE = re.compile(r"(?<=[；;])\s*")
_LINK = re.compile(r"\S*https?://\S+")
_CELLS = re.compile(r"\s*\|\s*")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of a source that may stand in an answer."""

    source: Source
    position: int  # place in the source, 0-based
    text: str  # verbatim but for Markdown marks and white space
    terms: tuple[str, ...]


def statements(sources: Sequence[Source], tokenizer: Tokenizer) -> list[Statement]:
    """All sentences of the sources in order; headings and rules are left out."""
    found = []
    for source in sources:
        for position, text in enumerate(plain_sentences(source.text)):
            found.append(Statement(source, position, text, tuple(tokenizer.terms(text))))
    return found


def plain_sentences(text: str) -> Iterator[str]:
    """Sentences without Markdown marks; one that announces a list is joined with what follows it."""
    announced = ""
    for raw in split_sentences(text):
        if _HEADING.match(raw) or _RULE.fullmatch(raw) or _is_bare_title(raw):
            continue
        for piece in _CLAUSE.split(raw) if len(raw) > LONG_CHARS else [raw]:
            plain = f"{announced}{plain_text(piece)}"
            announced = ""
            if plain.endswith((":", "：")) and len(plain) < LONG_CHARS:
                announced = f"{plain} "
            elif not _LINK.fullmatch(plain) and plain:
                yield plain
    if announced:
        yield announced.strip()


def _is_bare_title(raw: str) -> bool:
    """A numbered heading of a plain-text document, such as "5.7.1 General"."""
    return bool(_SECTION_NUMBER.fullmatch(raw.strip())) and not _ENDS.search(raw)


def plain_text(markdown: str) -> str:
    """A sentence without Markdown marks; the source's own [n] becomes ［n］, so that nobody takes it for a citation.

    The cells of a row stand between dots.
    """
    text = _CELLS.sub(" · ", _MARKS.sub("", markdown.strip())).strip(" ·")
    return _SPACE.sub(" ", _MARKER_LIKE.sub(r"［\1］", text)).strip()
