"""The sentences of numbered sources, ready to be chosen from (A4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragcore.ports import Tokenizer
from ragcore.text.sentences import split_sentences
from ragcore.types import Source

MIN_LETTERS = 2  # without them it is a row of dots or figures
LONG_CHARS = 400  # columns; longer sentences are offered clause by clause

_HEADING = re.compile(r"\s*#{1,6}\s")
_RULE = re.compile(r"[\s|:\-=*_`~]+")
_MARKS = re.compile(
    r"^\s*(?:[-*+>]\s+|\d{1,3}[.)]\s+)+|`{1,3}|\*{2,3}|__|!?\[(?=[^\]]+\]\()|(?<=\w)\]\([^)\s]*\)|<[^>]{1,40}>"
)
_SECTION_NUMBER = re.compile(r"\s*\d+(?:\.\d+)+\s+\S.{0,80}")
_MARKER_LIKE = re.compile(r"\[(\d{1,3})\]")
_ENDS = re.compile(r"[。！？.!?;；:：…」』”\")）]\s*\Z")
_ITEM = re.compile(r"\s{0,3}(?:[-*+•]\s|\d{1,3}[.)、．]\s?|[(（]\d{1,3}[)）])")
# a sentence that only says where to look
_POINTER = re.compile(
    r"[(（]?(?:详|詳|请|請|参|參)?[见見参參](?:见|見|阅|閱|考)?[上下]?(?:图|圖|表|附录|附錄|第|节|節|章)"
    r"[^。，,]{0,12}[)）]?[。.]?"
    r"|[(（]?(?:如|见|見)?[上下]?[图圖表]\s*[\d.\-]*\s*(?:所示|为例|為例)?[)）]?[。.：:]?"
    r"|[(（]?(?:see|cf\.?|refer to)(?: also)? (?:the )?(?:figure|fig\.?|table|clause|section|annex|appendix|chapter)\b"
    r"[^,;]{0,24}[.)]*",
    re.IGNORECASE,
)
_LETTER = re.compile(r"[^\W\d_]")
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
    heading: str = ""  # that it stands under within its source
    announced: str = ""  # the beginning of `text` that announces a list, up to its colon
    is_item: bool = False  # a point of a list
    is_row: bool = False  # of a table


@dataclass(frozen=True, slots=True)
class _Piece:
    """A sentence as it stands in a text."""

    text: str
    heading: str
    announced: str
    is_item: bool
    is_row: bool


def statements(sources: Sequence[Source], tokenizer: Tokenizer) -> list[Statement]:
    """All sentences of the sources in order; headings, rules and mere pointers to figures are left out."""
    found = []
    for source in sources:
        for position, piece in enumerate(_pieces(source.text)):
            if not _POINTER.fullmatch(piece.text) and len(_LETTER.findall(piece.text)) >= MIN_LETTERS:
                terms = tuple(tokenizer.terms(piece.text))
                kind = piece.announced, piece.is_item, piece.is_row
                found.append(Statement(source, position, piece.text, terms, piece.heading, *kind))
    return found


def plain_sentences(text: str) -> Iterator[str]:
    """Sentences without Markdown marks; one that announces a list is joined with what follows it."""
    return (piece.text for piece in _pieces(text))


def _pieces(text: str) -> Iterator[_Piece]:
    announced = heading = ""
    for raw in split_sentences(text):
        if _HEADING.match(raw):
            heading = plain_text(raw.strip().lstrip("#"))
            continue
        if _RULE.fullmatch(raw) or _is_bare_title(raw):
            continue
        is_item, is_row = bool(_ITEM.match(raw)), raw.lstrip().startswith("|")
        for piece in _CLAUSE.split(raw) if len(raw) > LONG_CHARS else [raw]:
            intro, plain = announced, f"{announced}{plain_text(piece)}"
            announced = ""
            if plain.endswith((":", "：")) and len(plain) < LONG_CHARS:
                announced = f"{plain} "
            elif not _LINK.fullmatch(plain) and plain:
                yield _Piece(plain, heading, intro.strip(), is_item, is_row)
    if announced:
        yield _Piece(announced.strip(), heading, "", False, False)


def _is_bare_title(raw: str) -> bool:
    """A numbered heading of a plain-text document, such as "5.7.1 General"."""
    return bool(_SECTION_NUMBER.fullmatch(raw.strip())) and not _ENDS.search(raw)


def plain_text(markdown: str) -> str:
    """A sentence without Markdown marks; the source's own [n] becomes ［n］, so that nobody takes it for a citation.

    The cells of a row stand between dots.
    """
    text = _CELLS.sub(" · ", _MARKS.sub("", markdown.strip())).strip(" ·")
    return _SPACE.sub(" ", _MARKER_LIKE.sub(r"［\1］", text)).strip()
