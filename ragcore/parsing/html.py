"""HTML pages: the main text without the furniture around it (D9, D24)."""

from __future__ import annotations

import re
import warnings

from bs4 import BeautifulSoup, Tag, XMLParsedAsHTMLWarning

from ragcore.parsing.charset import decode
from ragcore.parsing.guard import coded_errors, finished, require_content
from ragcore.parsing.html_walk import Walker
from ragcore.types import Block, ParsedDocument

_DECLARED = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_-]{2,40})""", re.IGNORECASE)
_INVISIBLE = (
    "script",
    "style",
    "template",
    "noscript",
    "iframe",
    "object",
    "svg",
    "canvas",
    "button",
    "select",
    "input",
)
_FURNITURE = ("nav", "aside", "header", "footer")
_ROLES = ("navigation", "banner", "contentinfo", "search", "complementary")
MAIN_SHARE = 0.3  # of the page's text; a <main> with less is not where the text is


class HtmlParser:
    """Headings, paragraphs, nested lists, tables with their spans filled, code and pictures as links."""

    formats = (".html", ".htm")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, CorruptDocumentError or ResourceLimitError (absurd nesting)."""
        require_content(content, name=name)
        with coded_errors(name):
            declared = _DECLARED.search(content[:4096])
            soup = _soup(decode(content, declared=declared[1].decode() if declared else None))
            title = soup.title.get_text(" ", strip=True) if soup.title else ""
            blocks = _page_blocks(soup)
            heading = next((block.text for block in blocks if block.kind == "heading"), "")
            return finished(blocks, name=name, title=title or heading)


def html_blocks(source: str) -> list[Block]:
    """Blocks of an HTML fragment, e.g. a table inside a Markdown file."""
    return _page_blocks(_soup(source))


def _soup(text: str) -> BeautifulSoup:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)  # XHTML is fine here
        return BeautifulSoup(text, "lxml")


def _page_blocks(soup: BeautifulSoup) -> list[Block]:
    page = soup.body or soup
    for tag in page.find_all(_INVISIBLE):
        tag.decompose()
    _drop_forms(page)
    root = _main_part(page)
    for tag in root.find_all(_is_furniture):
        if not tag.decomposed:
            tag.decompose()
    return Walker().blocks_of(root)


def _drop_forms(page: Tag) -> None:
    """Forms go, unless one wraps the page itself as old web frameworks do."""
    whole = len(page.get_text(strip=True))
    for form in page.find_all("form"):
        if not form.decomposed and len(form.get_text(strip=True)) < MAIN_SHARE * whole:
            form.decompose()


def _main_part(page: Tag) -> Tag:
    """The one <main> or <article> if it holds a fair share of the text, else the whole body."""
    whole = len(page.get_text(strip=True))
    for candidates in (page.find_all("main"), page.find_all(role="main"), page.find_all("article")):
        if len(candidates) == 1 and len(candidates[0].get_text(strip=True)) >= MAIN_SHARE * whole:
            return candidates[0]
    return page


def _is_furniture(tag: Tag) -> bool:
    if tag.name in _FURNITURE:
        # the header of an article carries its headline
        return tag.name in ("nav", "aside") or tag.find_parent(["article", "main"]) is None
    style = str(tag.get("style") or "").replace(" ", "").lower()
    return (
        tag.get("role") in _ROLES or tag.has_attr("hidden") or "display:none" in style or "visibility:hidden" in style
    )
