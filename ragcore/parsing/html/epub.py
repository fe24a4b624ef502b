"""EPUB books: the chapters of the spine in reading order, with their pictures (D9)."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

from ragcore.errors import CorruptDocumentError, PasswordProtectedError
from ragcore.parsing.archive.safe_zip import SafeZip
from ragcore.parsing.archive.sections import nesting
from ragcore.parsing.html.epub_package import Book, Chapter, read_book
from ragcore.parsing.html.parser import decode_html, read_html, whole_blocks
from ragcore.parsing.html.pictures import PictureShelf
from ragcore.parsing.parser_errors import coded_errors, finished, require_content
from ragcore.types import Block, ParsedDocument

_ZIP = b"PK\x03\x04"
_MENUS = ("page-list", "landmarks", "toc")


class EpubParser:
    """Blocks of all chapters; a chapter without a heading gets its label from the table of contents."""

    formats = (".epub",)

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, CorruptDocumentError, UnsafeArchiveError, or PasswordProtectedError for books
        whose chapters are encrypted by rights management; scrambled fonts do not matter.
        """
        require_content(content, name=name)
        if not content.startswith(_ZIP):
            raise CorruptDocumentError(name=name, problem="no zip archive")
        with coded_errors(name), nesting(name=name) as here:
            archive = SafeZip(content, name=name, allowance=here.allowance)
            book = read_book(archive, name=name)
            reader = _Reader(archive, book)
            blocks = [block for chapter in book.chapters for block in reader.chapter(chapter)]
            heading = next((block.text for block in blocks if block.kind == "heading"), "")
            title = book.title or heading
            return finished(blocks, name=name, title=title, metadata=book.metadata, pictures=reader.shelf.pictures)


class _Reader:
    """Reads chapters; the pictures of all of them are numbered in one row."""

    def __init__(self, archive: SafeZip, book: Book) -> None:
        self.shelf = PictureShelf(lookup=self._picture, links=False)
        self._archive = archive
        self._book = book

    def chapter(self, chapter: Chapter) -> list[Block]:
        if chapter.path in self._book.encrypted:
            raise PasswordProtectedError(name=chapter.path)
        content = self._archive.read(chapter.path)
        if content is None or not content.strip():
            return []
        self.shelf.base = posixpath.dirname(chapter.path)
        blocks = whole_blocks(_without_menus(read_html(decode_html(content))), self.shelf)
        if chapter.label and blocks and all(block.kind != "heading" for block in blocks[:3]):
            return [Block(kind="heading", text=chapter.label, level=chapter.level), *blocks]
        return blocks

    def _picture(self, source: str) -> bytes | None:
        path = unquote(urlsplit(source).path)
        return self._archive.read(posixpath.normpath(posixpath.join(self.shelf.base, path)))


def _without_menus(soup: BeautifulSoup) -> BeautifulSoup:
    """Without page lists and contents, which e-readers show as menus."""
    for tag in soup.find_all("nav"):
        if str(tag.get("epub:type") or "") in _MENUS:
            tag.decompose()
    return soup
