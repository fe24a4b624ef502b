"""EPUB books: the chapters in reading order, with their pictures.

`read_book` reads the package document: title, chapters in the order of the spine, their labels, encrypted parts.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup
from lxml import etree

from ragcore.errors import CorruptDocumentError, PasswordProtectedError
from ragcore.labels import gettext_noop as _
from ragcore.parsing.archive.safe_zip import SafeZip
from ragcore.parsing.archive.sections import enter_container
from ragcore.parsing.html.parser import all_blocks, decode_html, read_html
from ragcore.parsing.html.pictures import WebPictureCollector
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.types import Block, ParsedDocument

_ZIP = b"PK\x03\x04"
_MENUS = ("page-list", "landmarks", "toc")
Element = Any  # lxml elements carry no useful static type
_MARKUP = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document")
_FONT_SCRAMBLING = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_METADATA = {  # Dublin Core element -> name in the document's metadata
    "creator": "author",
    "language": "language",
    "publisher": "publisher",
    "date": "published",
    "subject": "subject",
    "description": "description",
    "identifier": "identifier",
}
MAX_CHAPTERS = 5000
MAX_VALUE_CHARACTERS = 500
MAX_LABEL_LEVEL = 3


class EpubParser:
    """Blocks of all chapters; a chapter without a heading gets its label from the table of contents."""

    formats = (".epub",)
    media_types = {"application/epub+zip": ".epub"}
    label = _("EPUB")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, CorruptDocumentError, UnsafeArchiveError, or PasswordProtectedError for books
        whose chapters are encrypted by rights management; scrambled fonts do not matter.
        """
        require_content(content, name=name)
        if not content.startswith(_ZIP):
            raise CorruptDocumentError(name=name, problem="no zip archive")
        with coded_errors(name), enter_container(name=name) as here:
            archive = SafeZip(content, name=name, budget=here.budget)
            book = read_book(archive, name=name)
            reader = _ChapterReader(archive, book)
            blocks = [block for chapter in book.chapters for block in reader.chapter(chapter)]
            heading = next((block.text for block in blocks if block.kind == "heading"), "")
            title = book.title or heading
            return build_document(
                blocks, name=name, title=title, metadata=book.metadata, pictures=reader.collector.pictures
            )


class _ChapterReader:
    """Reads chapters; the pictures of all of them are numbered in one row."""

    def __init__(self, archive: SafeZip, book: Book) -> None:
        self.collector = WebPictureCollector(lookup=self._picture, links=False)
        self._archive = archive
        self._book = book

    def chapter(self, chapter: Chapter) -> list[Block]:
        if chapter.path in self._book.encrypted:
            raise PasswordProtectedError(name=chapter.path)
        content = self._archive.read(chapter.path)
        if content is None or not content.strip():
            return []
        self.collector.base = posixpath.dirname(chapter.path)
        blocks = all_blocks(_without_menus(read_html(decode_html(content))), self.collector)
        if chapter.label and blocks and all(block.kind != "heading" for block in blocks[:3]):
            return [Block(kind="heading", text=chapter.label, level=chapter.level), *blocks]
        return blocks

    def _picture(self, source: str) -> bytes | None:
        path = unquote(urlsplit(source).path)
        return self._archive.read(posixpath.normpath(posixpath.join(self.collector.base, path)))


def _without_menus(soup: BeautifulSoup) -> BeautifulSoup:
    """Without page lists and contents, which e-readers show as menus."""
    for tag in soup.find_all("nav"):
        if str(tag.get("epub:type") or "") in _MENUS:
            tag.decompose()
    return soup


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A file of the spine."""

    path: str  # in the archive
    label: str = ""  # from the table of contents
    level: int = 1  # depth there


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """The package document of an EPUB."""

    title: str
    metadata: Mapping[str, str]
    chapters: tuple[Chapter, ...]
    encrypted: frozenset[str]  # paths that only a reader with the right key opens


def read_book(archive: SafeZip, *, name: str) -> Book:
    """Raises CorruptDocumentError where the container or the package document is missing or broken."""
    container = _xml(archive, "META-INF/container.xml")
    root = next((node for node in _all(container, "rootfile") if node.get("full-path")), None)
    path = unquote(root.get("full-path")) if root is not None else _only_package(archive)
    package = _xml(archive, path)
    if package is None:
        raise CorruptDocumentError(name=name, problem="no package document")
    folder = posixpath.dirname(path)
    metadata = _dublin_core(package)
    labels = _labels(archive, package, folder)
    chapters = tuple(
        Chapter(path=chapter, label=labels.get(chapter, ("", 1))[0], level=labels.get(chapter, ("", 1))[1])
        for chapter in _spine(package, folder)[:MAX_CHAPTERS]
    )
    return Book(title=metadata.pop("title", ""), metadata=metadata, chapters=chapters, encrypted=_encrypted(archive))


def _only_package(archive: SafeZip) -> str:
    return next((path for path in archive.paths if path.lower().endswith(".opf")), "")


def _xml(archive: SafeZip, path: str) -> Element | None:
    """The root of a part, mended where possible. No entity is resolved and nothing is fetched; None if not there."""
    content = archive.read(path)
    if not content or not content.strip():
        return None
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True)
    return etree.fromstring(content, parser)


def _all(root: Element | None, name: str) -> list[Element]:
    """Elements by their name, whatever namespace they claim."""
    return list(root.iter(f"{{*}}{name}")) if root is not None else []


def _dublin_core(package: Element) -> dict[str, str]:
    """Title and the metadata that we keep; several authors are joined."""
    texts_by_key: dict[str, list[str]] = {}
    for node in (child for holder in _all(package, "metadata") for child in holder.iter("*")):
        key = etree.QName(node).localname
        text = " ".join("".join(node.itertext()).split())
        if text and (key == "title" or key in _METADATA):
            texts_by_key.setdefault("title" if key == "title" else _METADATA[key], []).append(text)
    metadata = {key: ", ".join(dict.fromkeys(texts))[:MAX_VALUE_CHARACTERS] for key, texts in texts_by_key.items()}
    if "title" in metadata:
        metadata["title"] = texts_by_key["title"][0][:MAX_VALUE_CHARACTERS]  # further ones are subtitles and sort keys
    return metadata


def _manifest(package: Element, folder: str) -> dict[str, tuple[str, str, str]]:
    """id -> path in the archive, media type, properties."""
    return {
        node.get("id"): (_joined(folder, node.get("href")), node.get("media-type") or "", node.get("properties") or "")
        for node in _all(package, "item")
        if node.get("id") and node.get("href")
    }


def _joined(folder: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(urlsplit(address).path)))


def _spine(package: Element, folder: str) -> list[str]:
    """Chapters in reading order; side texts (linear="no") come last, the table of contents is left out."""
    manifest = _manifest(package, folder)
    main: list[str] = []
    aside: list[str] = []
    for node in _all(package, "itemref"):
        path, media_type, properties = manifest.get(node.get("idref"), ("", "", ""))
        if media_type in _MARKUP and "nav" not in properties.split():
            (aside if node.get("linear") == "no" else main).append(path)
    if not main and not aside:  # a broken spine: all there is, in the order of the manifest
        main = [path for path, media_type, properties in manifest.values() if media_type in _MARKUP]
    return list(dict.fromkeys([*main, *aside]))


def _labels(archive: SafeZip, package: Element, folder: str) -> dict[str, tuple[str, int]]:
    """path -> label and depth in the table of contents; the first entry of a file counts."""
    labels: dict[str, tuple[str, int]] = {}
    for path, media_type, properties in _manifest(package, folder).values():
        if "nav" in properties.split():
            _read_nav(_xml(archive, path), posixpath.dirname(path), labels)
        elif media_type == "application/x-dtbncx+xml":
            _read_ncx(_xml(archive, path), posixpath.dirname(path), labels)
    return labels


def _read_nav(root: Element | None, folder: str, labels: dict[str, tuple[str, int]]) -> None:
    for link in _all(root, "a"):
        if address := link.get("href"):
            depth = sum(1 for above in link.iterancestors("{*}ol"))
            text = " ".join("".join(link.itertext()).split())
            labels.setdefault(_joined(folder, address), (text, min(max(depth, 1), MAX_LABEL_LEVEL)))


def _read_ncx(root: Element | None, folder: str, labels: dict[str, tuple[str, int]]) -> None:
    for point in _all(root, "navPoint"):
        target, text = point.find("{*}content"), point.find("{*}navLabel/{*}text")
        if target is not None and text is not None and target.get("src"):
            depth = 1 + sum(1 for above in point.iterancestors("{*}navPoint"))
            label = " ".join("".join(text.itertext()).split())
            labels.setdefault(_joined(folder, target.get("src")), (label, min(depth, MAX_LABEL_LEVEL)))


def _encrypted(archive: SafeZip) -> frozenset[str]:
    """Paths that are really encrypted; fonts are only scrambled, by a key that the book states."""
    root = _xml(archive, "META-INF/encryption.xml")
    paths: set[str] = set()
    for data in _all(root, "EncryptedData"):
        method = next(iter(_all(data, "EncryptionMethod")), None)
        target = next(iter(_all(data, "CipherReference")), None)
        scrambled = method is not None and method.get("Algorithm") in _FONT_SCRAMBLING
        if target is not None and not scrambled:
            paths.add(unquote(target.get("URI") or ""))
    return frozenset(paths)
