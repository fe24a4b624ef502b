"""Plain text and Markdown as HTML."""

from __future__ import annotations

import html
import re
from functools import cache

from markdown_it import MarkdownIt

_GAP = re.compile(r"\n\s*\n")


def plain_html(text: str) -> str:
    """Paragraphs where lines are empty, breaks where they end."""
    parts = (part.strip("\n") for part in _GAP.split(text.replace("\r\n", "\n").strip()))
    return "".join(f"<p>{html.escape(part).replace(chr(10), '<br>')}</p>\n" for part in parts if part)


def markdown_html(text: str) -> str:
    """CommonMark with tables and struck-out text; HTML in it stays."""
    return str(_markdown().render(text))


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
