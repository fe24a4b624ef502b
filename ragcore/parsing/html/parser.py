"""HTML pages: the main text without the boilerplate around it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from contextlib import suppress

from bs4 import BeautifulSoup, Tag, XMLParsedAsHTMLWarning
from lxml import etree

from ragcore.errors import ResourceLimitError
from ragcore.labels import gettext_noop as _
from ragcore.parsing.charset import decode
from ragcore.parsing.html.blocks import HtmlBlockBuilder
from ragcore.parsing.html.boilerplate import drop_boilerplate, drop_hidden, main_part
from ragcore.parsing.html.pictures import WebPictureCollector
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.types import Block, ParsedDocument

_DECLARED = (
    re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_-]{2,40})""", re.IGNORECASE),
    re.compile(rb"""^\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([A-Za-z0-9_-]{2,40})"""),
)
_VOID = "area|base|br|col|embed|hr|img|image|input|link|meta|param|source|track|wbr"
# XHTML closes empty elements by a slash, which HTML ignores: <title/> would swallow the page
_SELF_CLOSED = re.compile(rf"<(?!(?:{_VOID})\b)([A-Za-z][\w:-]*)(\s[^<>]*)?/>", re.IGNORECASE)
_META = {
    "author": ("author", "article:author", "dc.creator"),
    "description": ("description", "og:description", "dc.description"),
    "keywords": ("keywords",),
    "published": ("article:published_time", "date", "dc.date", "pubdate", "publishdate"),
    "site": ("og:site_name",),
}
MAX_META_CHARACTERS = 500
MAX_DEPTH = 500  # pages reach 60, long threads of messages 200; the time to read a page grows with its depth


class HtmlParser:
    """Headings, paragraphs, nested lists, tables with their spans filled, code, formulas and pictures."""

    formats = (".html", ".htm")
    media_types = {"text/html": ".html", "application/xhtml+xml": ".html"}
    label = _("HTML")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Pictures in `data:` addresses are taken out; those elsewhere stay links.

        Raises EmptyDocumentError, CorruptDocumentError or ResourceLimitError (absurd nesting).
        """
        require_content(content, name=name)
        with coded_errors(name):
            soup = read_html(decode_html(content))
            meta = _meta(soup)
            title, metadata = _title(soup, meta), _metadata(soup, meta)
            collector = WebPictureCollector(base=base_address(soup))
            blocks = main_blocks(soup, collector)
            heading = next((block.text for block in blocks if block.kind == "heading"), "")
            pictures = collector.pictures if blocks else ()
            return build_document(blocks, name=name, title=title or heading, metadata=metadata, pictures=pictures)


def html_blocks(source: str, collector: WebPictureCollector | None = None) -> list[Block]:
    """Blocks of an HTML fragment, e.g. a table inside a Markdown file."""
    return main_blocks(read_html(source), collector or WebPictureCollector())


def decode_html(content: bytes, *, declared: str | None = None) -> str:
    """Text of a page by the encoding that it declares, else by the one that its container does, if its bytes obey."""
    match = next((match for pattern in _DECLARED if (match := pattern.search(content[:4096]))), None)
    return decode(content, declared=match[1].decode() if match else declared)


def read_html(text: str) -> BeautifulSoup:
    """The tree of a page or fragment. Entities and addresses outside are never resolved.

    Raises ResourceLimitError for elements nested deeper than MAX_DEPTH.
    """
    if "http://www.w3.org/1999/xhtml" in text[:2000]:
        text = _SELF_CLOSED.sub(r"<\1\2></\1>", text)
    _check_depth(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)  # XHTML is fine here
        return BeautifulSoup(text, "lxml")


class _DepthGuard:
    """Stops the parser where elements nest too deeply. Reading events is much cheaper than building a tree."""

    def __init__(self) -> None:
        self._depth = 0

    def start(self, tag: str, attributes: object) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ResourceLimitError(depth=self._depth)

    def end(self, tag: str) -> None:
        self._depth -= 1

    def close(self) -> None:
        """Nothing to hand back."""


def _check_depth(text: str) -> None:
    parser = etree.HTMLParser(target=_DepthGuard())
    parser.feed(text)
    with suppress(etree.ParserError, etree.XMLSyntaxError):  # a page of nothing; the tree says so
        parser.close()


def main_blocks(soup: BeautifulSoup, collector: WebPictureCollector) -> list[Block]:
    """Blocks of the main text of a web page."""
    page = soup.body or soup
    drop_hidden(page)
    root = main_part(page)
    drop_boilerplate(root)
    return HtmlBlockBuilder(collector).blocks_of(root)


def all_blocks(soup: BeautifulSoup, collector: WebPictureCollector) -> list[Block]:
    """Blocks of all text that is visible: chapters and messages have no furniture."""
    page: Tag = soup.body or soup
    drop_hidden(page)
    return HtmlBlockBuilder(collector).blocks_of(page)


def base_address(soup: BeautifulSoup) -> str:
    """What relative addresses start from, where the page says so; "" otherwise."""
    base = soup.find("base", href=True)
    return str(base["href"]).strip() if isinstance(base, Tag) else ""


def _title(soup: BeautifulSoup, meta: Mapping[str, str]) -> str:
    """The title that the page declares: <title>, else what it tells social networks, else its headline."""
    if soup.title and (declared := soup.title.get_text(" ", strip=True)):
        return " ".join(declared.split())
    if declared := _first_of(meta, ("og:title", "twitter:title", "dc.title")):
        return declared
    headline = soup.find("h1")
    return " ".join(headline.get_text(" ", strip=True).split()) if headline else ""


def _metadata(soup: BeautifulSoup, meta: Mapping[str, str]) -> dict[str, str]:
    metadata = {key: value for key, names in _META.items() if (value := _first_of(meta, names))}
    root = soup.find("html")
    if isinstance(root, Tag) and (language := str(root.get("lang") or "").strip()):
        metadata["language"] = language[:35]
    link = soup.find("link", rel="canonical", href=True)
    if isinstance(link, Tag) and str(link["href"]).startswith(("http://", "https://")):
        metadata["url"] = str(link["href"])[:2000]
    return metadata


def _meta(soup: BeautifulSoup) -> dict[str, str]:
    """What <meta> elements say, by their name in lower case; the first of a name counts."""
    meta: dict[str, str] = {}
    for tag in soup.find_all("meta", content=True):
        name = str(tag.get("name") or tag.get("property") or tag.get("itemprop") or "").lower()
        meta.setdefault(name, " ".join(str(tag["content"]).split())[:MAX_META_CHARACTERS])
    return meta


def _first_of(meta: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((meta[name] for name in names if meta.get(name)), "")
