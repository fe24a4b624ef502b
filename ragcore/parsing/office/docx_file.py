"""A Word file as its main part and what that refers to; what is missing or damaged beside it is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from email import message_from_bytes

from lxml import etree

from ragcore.errors import CorruptDocumentError
from ragcore.parsing.charset import decode
from ragcore.parsing.html.parser import all_blocks, decode_html, read_html
from ragcore.parsing.html.pictures import WebPictureCollector
from ragcore.parsing.office.docx_text import Links, W
from ragcore.parsing.office.xml import Element, Package
from ragcore.text.markdown import without_pictures
from ragcore.types import Block

_SHOWN_KINDS = ("image", "chart", "diagramData")
_ZIP = b"PK\x03\x04"


class WordFile:
    """The main part of a package. Raises CorruptDocumentError where there is none, or it is no Word document."""

    def __init__(self, package: Package, *, name: str, is_embedded: bool = False) -> None:
        self.package, self.name, self.is_embedded = package, name, is_embedded
        self._part = next(iter(package.related("", "officeDocument").values()), "word/document.xml")
        root = package.xml(self._part)
        body = root.find(W + "body") if root is not None else None
        if body is None or not package.is_declared:
            raise CorruptDocumentError(name=name, problem="no main part of a Word document")
        self.body: Element = body
        self._relations = package.relations(self._part)

    def related(self, kind: str) -> Element | None:
        """The root of the first part of a kind; None where there is none that can be read."""
        return next(self.all_related(kind), None)

    def all_related(self, kind: str) -> Iterator[Element]:
        """The roots of all parts of a kind that can be read."""
        for key, relation in self._relations.items():
            if relation.kind == kind and (root := self.part_by_id(key)) is not None:
                yield root

    def part_by_id(self, key: str) -> Element | None:
        """The root of a related part; None where it is missing, outside, or no XML."""
        relation = self._relations.get(key)
        if relation is None or relation.is_external:
            return None
        try:
            return self.package.xml(relation.target)
        except etree.XMLSyntaxError:
            return None

    def blob_by_id(self, key: str) -> tuple[str, bytes] | None:
        """Name and bytes of a related part; None where it is missing or outside."""
        relation = self._relations.get(key)
        blob = self.package.blob(relation.target) if relation is not None and not relation.is_external else None
        return (relation.target, blob) if relation is not None and blob is not None else None

    def links(self, *, levels: Mapping[str, int]) -> Links:
        """The pictures, charts and diagrams of the main part. `levels`: character styles that raise or lower text."""
        relations = self._relations.items()
        addresses = {key: link.target for key, link in relations if link.is_external and link.kind == "hyperlink"}
        drawn = (key for key, relation in self._relations.items() if relation.kind in _SHOWN_KINDS)
        parts = {key: part for key in drawn if (part := self.blob_by_id(key)) is not None}
        return Links(parts=parts, addresses=addresses, levels=levels)


def embedded_blocks(file: WordFile, key: str, read_word: Callable[[bytes], Iterator[Block]]) -> Iterator[Block]:
    """The blocks of a file that stands whole in the body (altChunk): HTML, a saved web page, text, or Word."""
    part = file.blob_by_id(key)
    if part is None:
        return
    name, blob = part[0].lower(), part[1]
    if blob.startswith(_ZIP):
        yield from read_word(blob)
    elif name.endswith((".mht", ".mhtml", ".eml")):
        yield from _web_page(blob)
    elif name.endswith((".htm", ".html", ".xhtml")) or b"<html" in blob[:2000].lower():
        yield from _html(decode_html(blob))
    elif name.endswith(".txt"):
        yield from (Block(kind="paragraph", text=text.strip()) for text in decode(blob).split("\n\n"))


def _html(text: str) -> Iterator[Block]:
    """The blocks of a page, of its pictures the words only."""
    for block in all_blocks(read_html(text), WebPictureCollector()):
        yield replace(block, text=without_pictures(block.text))


def _web_page(blob: bytes) -> Iterator[Block]:
    """The first HTML part of a web page saved as a message."""
    for part in message_from_bytes(blob).walk():
        payload = part.get_payload(decode=True)
        if part.get_content_type() == "text/html" and isinstance(payload, bytes):
            yield from _html(decode_html(payload, declared=part.get_content_charset()))
            return
