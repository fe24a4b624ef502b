"""The part of a passage that matches a question, with the matches marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from evaluation.services.lab_types import Piece

SNIPPET_CHARACTERS = 220
LEAD_CHARACTERS = 24  # before the first match of the snippet
_SPACE = re.compile(r"\s+")
_LATIN = re.compile(r"[a-z0-9]", re.IGNORECASE)
_MARKS = re.compile(r"^\s*(?:#{1,6}|[-*+>]|\|?[-:| ]*-{3,}[-:| ]*\|?$)\s*|[*`~]+|(?<!\w)_+|_+(?!\w)", re.MULTILINE)
_CELLS = re.compile(r"(?:[ \t]*\|[ \t]*)+")
_DOTS = re.compile(r"(?: ·)+(?= ·)")


def snippet_of(text: str, terms: Sequence[str], *, limit: int = SNIPPET_CHARACTERS) -> tuple[Piece, ...]:
    """The window of `limit` characters with most different terms, without marks of Markdown."""
    plain = _DOTS.sub("", _SPACE.sub(" ", _CELLS.sub(" · ", _MARKS.sub("", text)))).strip(" ·")
    pattern = pattern_of(terms)
    start = _densest(plain, pattern, limit)
    part = plain[start : start + limit]
    pieces = list(_marked(part, pattern))
    before = [Piece("… ")] if start else []
    after = [Piece(" …")] if start + limit < len(plain) else []
    return (*before, *pieces, *after)


def pattern_of(terms: Iterable[str]) -> re.Pattern[str] | None:
    """Matches index terms in running text: Latin stems with whatever ending they have there (Porter's i may be a y)."""
    parts = [_part(term) for term in sorted(set(terms), key=len, reverse=True) if term]
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


def _part(term: str) -> str:
    if not _LATIN.match(term):
        return re.escape(term)
    stem = f"{re.escape(term[:-1])}[iy]" if len(term) > 2 and term.endswith("i") else re.escape(term)
    return rf"(?<![A-Za-z0-9]){stem}\w*" if term[-1:].isalpha() else rf"(?<![A-Za-z0-9]){stem}(?!\w)"


def _marked(part: str, pattern: re.Pattern[str] | None) -> Iterable[Piece]:
    """The text in pieces; bigrams of CJK that overlap or touch become one mark."""
    spans: list[list[int]] = []
    start = 0
    while pattern is not None and (match := pattern.search(part, start)):
        if spans and match.start() <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], match.end())
        else:
            spans.append([match.start(), match.end()])
        start = match.start() + 1 if not _LATIN.match(match.group()) else match.end()
    end = 0
    for first, last in spans:
        if first > end:
            yield Piece(part[end:first])
        yield Piece(part[first:last], marked=True)
        end = last
    if end < len(part):
        yield Piece(part[end:])


def _densest(text: str, pattern: re.Pattern[str] | None, limit: int) -> int:
    """Where the window with most different matches begins."""
    found = [(match.start(), match.group().lower()) for match in pattern.finditer(text)] if pattern else []
    if not found or len(text) <= limit:
        return 0
    width = limit - LEAD_CHARACTERS
    best = max((at for at, _ in found), key=lambda at: len({word for place, word in found if at <= place < at + width}))
    return max(0, min(best - LEAD_CHARACTERS, len(text) - limit))
