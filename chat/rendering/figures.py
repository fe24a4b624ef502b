"""Figures within the HTML of an answer: each behind the block that has its marker."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html.parser import HTMLParser

_PLACED = re.compile(r'<button class="cite"[^<>]*?data-cite="(\d{1,3})"(?: data-place="(\d{1,4})")?')
_VOID = frozenset({"br", "hr", "img"})
_ITEMS = frozenset({"ul", "ol"})  # a figure stands behind a point of an outermost list, not behind the whole list


def with_figures(html: str, figures: Iterable[tuple[int, int, str]]) -> str:
    """The HTML with figures in it; each is the number of its source, the place of its marker, and its own markup.

    A figure whose marker is not there stands at the end. The HTML is well-formed: it was sanitised when it was made.
    """
    listed = list(figures)
    if not listed:
        return html
    ends = _block_ends(html)
    markers = [(match.start(), int(match[1]), int(match[2] or -1)) for match in _PLACED.finditer(html)]
    by_end: dict[int, list[str]] = {}
    for number, place, markup in listed:
        at = _marker_at(markers, number, place)
        end = next((end for end in ends if at is not None and end > at), len(html))
        by_end.setdefault(end, []).append(markup)
    parts, start = [], 0
    for end in sorted(by_end):
        parts += [html[start:end], *by_end[end]]
        start = end
    return "".join([*parts, html[start:]])


def _marker_at(markers: Sequence[tuple[int, int, int]], number: int, place: int) -> int | None:
    """Where the marker stands; where places are not told, or other ones are, the first of the source."""
    exact = (at for at, source, which in markers if source == number and which == place)
    first = (at for at, source, _which in markers if source == number)
    return next(exact, None) or next(first, None)


def _block_ends(html: str) -> list[int]:
    """Where blocks of the text end, rising: outermost elements, and points of outermost lists."""
    reader = _Ends(html)
    reader.feed(html)
    reader.close()
    return reader.ends


class _Ends(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.ends: list[int] = []
        self.path: list[str] = []
        self.starts = [0, *(match.end() for match in re.finditer("\n", html))]  # of the lines
        self.html = html

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _VOID:
            self.path.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID or not self.path or self.path.pop() != tag:
            return
        is_point = tag == "li" and len(self.path) == 1 and self.path[0] in _ITEMS
        if not self.path or is_point:
            line, column = self.getpos()
            end = self.html.index(">", self.starts[line - 1] + column) + 1
            self.ends.append(end - len("</li>") if is_point else end)
