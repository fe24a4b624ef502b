"""Markdown marks off a sentence that is quoted (A4)."""

from __future__ import annotations

import re

_MARKS = re.compile(
    r"^\s*(?:[-*+>]\s+|\d{1,3}[.)]\s+)+|`{1,3}|\*{2,3}|__|!?\[(?=[^\]]+\]\()|(?<=\w)\]\([^)\s]*\)|<[^>]{1,40}>"
    r"|(?<![\w*])\*(?=[^\s*][^*]*\*(?![\w*]))|(?<=[^\s*])\*(?![\w*])"
)
_MARKER_LIKE = re.compile(r"\[(\d{1,3})\]")
_CELLS = re.compile(r"\s*\|\s*")
_SPACE = re.compile(r"\s+")


def plain_text(markdown: str) -> str:
    """A sentence without Markdown marks; the source's own [n] becomes ［n］, so that nobody takes it for a citation.

    The cells of a row stand between dots.
    """
    text = _CELLS.sub(" · ", _MARKS.sub("", markdown.strip())).strip(" ·")
    return _SPACE.sub(" ", _MARKER_LIKE.sub(r"［\1］", text)).strip()
