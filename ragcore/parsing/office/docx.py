"""Word documents in reading order: headings, lists with their numbers, tables with merged cells filled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any

from docx import Document
from docx.oxml.parser import parse_xml

from ragcore.parsing.office.docx_styles import (
    Numbering,
    Style,
    numbering_of,
    paragraph_style,
    read_numbering,
    read_styles,
)
from ragcore.parsing.office.docx_text import (
    Element,
    Links,
    W,
    paragraph_text,
    row_cells,
    table_grid,
    table_rows,
    text_boxes,
)
from ragcore.parsing.office.graphics import chart_blocks, diagram_list
from ragcore.parsing.office.package import check_package
from ragcore.parsing.office.xml import read_xml
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.parsing.tables import table_markdown
from ragcore.parsing.titles import is_default_title
from ragcore.types import Block, ParsedDocument

_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_NOTES = (("footnotes", "footnote", ""), ("endnotes", "endnote", "e"))
_FORMULA = re.compile(r"\$[^$\n]+\$")
_TRANSPARENT = frozenset(W + name for name in ("ins", "moveTo", "customXml", "smartTag", "sdtContent"))
_WORDS = re.compile(r"[^\W\d_]{2,}|[\u3400-\u9fff]")
MAX_TITLE_CHARS = 200


class DocxParser:
    """Reads the main text; headers and footers of pages, comments and deleted text are left out."""

    formats = (".docx",)
    media_types = {"application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx"}

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises what `ragcore.parsing.parse` raises.

        python-docx reads XML without resolving entities, and follows no external link.
        """
        require_content(content, name=name)
        check_package(content, name=name)
        with coded_errors(name):
            document = Document(BytesIO(content))
            reader = _BodyReader(document)
            blocks = [*reader.body(), *_notes(document.part, reader.links)]
            cover = cover_lines(document, [block.text for block in blocks])
            blocks = [*(Block(kind="paragraph", text=line) for line in cover), *blocks]
            properties = document.core_properties
            metadata = {"author": properties.author, "subject": properties.subject, "keywords": properties.keywords}
            return build_document(
                blocks,
                name=name,
                title=reader.title or _title(blocks, properties.title) or header_title(document),
                metadata={key: value for key, value in metadata.items() if value} | reader.links.collector.metadata(),
                pictures=reader.links.collector.pictures(),
            )


class _BodyReader:
    """Walks the body once; list counters and the open list are its state."""

    def __init__(self, document: Any) -> None:
        part = document.part
        self.root = document.element.body
        self.links = _links(part)
        self.styles = read_styles(document.styles.element)
        self.numbering = _numbering(part)
        self.title = ""
        self._items: list[str] = []

    def body(self) -> Iterator[Block]:
        yield from self._blocks(self.root)
        yield from self._end_list()

    def _blocks(self, parent: Element) -> Iterator[Block]:
        for node in parent:
            if node.tag == W + "p":
                yield from self._paragraph(node)
            elif node.tag == W + "tbl":
                yield from self._end_list()
                yield from self._table(node)
            elif node.tag == W + "sdt" and not _is_contents(node) or node.tag in _TRANSPARENT:
                yield from self._blocks(node)

    def _paragraph(self, node: Element) -> Iterator[Block]:
        style = paragraph_style(node, self.styles)
        text = paragraph_text(node, self.links)
        if style.role == "contents":
            return
        label, depth = self._label(node, style) if text else (None, 0)
        if style.role == "body" and label is not None:
            # labels such as 第三条 or (a) are no Markdown list marks, and stay what they are
            self._items.append(f"{'  ' * depth}{label} {text}".rstrip() if label else f"{'  ' * depth}{text}")
        elif text:
            yield from self._end_list()
            yield from self._plain(style, f"{label} {text}" if label and label != "-" else text)
        for block in self._graphics(node):
            yield from self._end_list()
            yield block
        for box in text_boxes(node):
            yield from self._end_list()
            yield from self._blocks(box)

    def _plain(self, style: Style, text: str) -> Iterator[Block]:
        if style.role == "title" and not self.title:
            self.title = text
        if style.level and "\n" not in text.strip():
            yield from _heading(text, style.level)
        elif text.startswith("![") and text.endswith(")") and text.count("](") == 1:
            yield Block(kind="image", text=text)
        elif _FORMULA.fullmatch(text):
            yield Block(kind="formula", text=f"${text}$")
        else:
            yield Block(kind="paragraph", text=text, style=style.name)

    def _label(self, node: Element, style: Style) -> tuple[str | None, int]:
        """The automatic number of a paragraph and its depth; None where it has none."""
        direct = numbering_of(node)
        number, depth = direct or style.numbering or ("0", 0)
        if not number and style.numbering:  # the paragraph changes the level only
            number = style.numbering[0]
        return self.numbering.label(number, depth), min(depth, 8)

    def _end_list(self) -> Iterator[Block]:
        if self._items:
            text = "\n".join(self._items)
            self._items = []
            yield Block(kind="list", text=text)

    def _table(self, node: Element) -> Iterator[Block]:
        rows = table_rows(node)
        if all(len(list(row_cells(row))) <= 1 for row in rows):  # a frame around text, not a table
            for row in rows:
                for cell in row_cells(row):
                    yield from self._blocks(cell)
            yield from self._end_list()
            return
        yield Block(kind="table", text=table_markdown(table_grid(rows, self._cell_text)))

    def _cell_text(self, cell: Element) -> str:
        return " ".join(filter(None, self._cell_texts(cell)))

    def _cell_texts(self, parent: Element) -> Iterator[str]:
        """Paragraphs with their numbers and text boxes; a table inside the cell as "a, b; c, d"."""
        for node in parent:
            if node.tag == W + "p":
                text = paragraph_text(node, self.links)
                label = self._label(node, paragraph_style(node, self.styles))[0] if text else None
                yield f"{label} {text}" if label and label != "-" else text
                for box in text_boxes(node):
                    yield from self._cell_texts(box)
            elif node.tag == W + "tbl":
                rows = ([self._cell_text(cell) for cell in row_cells(row)] for row in table_rows(node))
                yield "; ".join(", ".join(filter(None, row)) for row in rows if any(row))
            elif node.tag == W + "sdt" or node.tag in _TRANSPARENT:
                yield from self._cell_texts(node)

    def _graphics(self, node: Element) -> Iterator[Block]:
        """Charts as tables and diagrams as lists, of the drawings in a paragraph."""
        for mark in node.iter(_CHART, _DIAGRAM):
            _, blob = self.links.parts.get(mark.get(_R + ("id" if mark.tag == _CHART else "dm")) or "", ("", b""))
            if blob and mark.tag == _CHART:
                yield from chart_blocks(read_xml(blob))
            elif blob:
                yield Block(kind="list", text=diagram_list(read_xml(blob)))


def _heading(text: str, level: int) -> Iterator[Block]:
    """A heading in words; formulas in it follow below, as headings are shown where TeX is not."""
    words = " ".join(_FORMULA.sub("", text).split())
    if words:
        yield Block(kind="heading", text=words, level=level)
    for formula in _FORMULA.findall(text):
        yield Block(kind="formula", text=f"${formula}$")


def _is_contents(node: Element) -> bool:
    gallery = node.find(f"{W}sdtPr/{W}docPartObj/{W}docPartGallery")
    return gallery is not None and "table of contents" in (gallery.get(W + "val") or "").lower()


def _links(part: Any) -> Links:
    """Parts of the relationships that stay inside the file; names without their leading slash."""
    inside = {key: link.target_part for key, link in part.rels.items() if not link.is_external}
    return Links(parts={key: (str(part.partname).lstrip("/"), part.blob) for key, part in inside.items()})


def _numbering(part: Any) -> Numbering:
    blob = _related(part, "numbering")
    return read_numbering(parse_xml(blob) if blob else None)


def _related(part: Any, kind: str) -> bytes | None:
    for link in part.rels.values():
        if not link.is_external and link.reltype.endswith(f"/{kind}"):
            return bytes(link.target_part.blob)
    return None


def _notes(part: Any, links: Links) -> Iterator[Block]:
    """Foot- and endnotes as Markdown footnotes at the end; separators have no text and fall out."""
    for kind, tag, prefix in _NOTES:
        blob = _related(part, kind)
        for note in parse_xml(blob).findall(W + tag) if blob else ():
            text = " ".join(filter(None, (paragraph_text(node, links) for node in note.iter(W + "p"))))
            if text:
                yield Block(kind="paragraph", text=f"[^{prefix}{note.get(W + 'id')}]: {text}")


def _title(blocks: list[Block], declared: str) -> str:
    """The title that the file declares if its text has it too: templates leave "Word Document" and the like."""
    declared = "" if is_default_title(declared) else declared
    if declared and any(declared in block.text for block in blocks):
        return declared
    return next((block.text for block in blocks if block.kind == "heading"), declared)


def cover_lines(document: Any, body: Sequence[str]) -> list[str]:
    """Texts of frames and text boxes in the first page's header that the body says nowhere, in their order."""
    root = _first_header(document)
    if root is None:
        return []
    body_text = _without_spaces(" ".join(body))
    lines = dict.fromkeys(_frame_texts(root))
    return [line for line in lines if _WORDS.search(line) and _without_spaces(line) not in body_text]


def header_title(document: Any) -> str:
    """The longest line of the first page's header; "" where there is none that could be a title."""
    root = _first_header(document)
    if root is None:
        return ""
    lines = [paragraph_text(node, Links()) for node in root.iter(W + "p")]
    fitting = [" ".join(line.split()) for line in lines if _WORDS.search(line) and len(line) <= MAX_TITLE_CHARS]
    return max(fitting, key=len, default="")


def _frame_texts(root: Element) -> Iterator[str]:
    for node in root.iter(W + "p"):
        if node.find(f"{W}pPr/{W}framePr") is not None and (text := paragraph_text(node, Links())):
            yield " ".join(text.split())
        for box in text_boxes(node):
            texts = (paragraph_text(inner, Links()) for inner in box.iter(W + "p"))
            if text := " ".join(filter(None, texts)):
                yield " ".join(text.split())


def _first_header(document: Any) -> Element | None:
    """The header that the first page shows: its own one where the section wants that, else the usual one."""
    section = next(document.element.body.iter(W + "sectPr"), None)
    if section is None:
        return None
    kind = "first" if section.find(W + "titlePg") is not None else "default"
    for reference in section.findall(W + "headerReference"):
        link = document.part.rels.get(reference.get(_R + "id") or "")
        if reference.get(W + "type") == kind and link is not None and not link.is_external:
            return parse_xml(link.target_part.blob)
    return None


def _without_spaces(text: str) -> str:
    return "".join(text.split()).casefold()
