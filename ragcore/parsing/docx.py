"""Word documents in reading order: headings, lists with their numbers, tables with merged cells filled (D9, D24)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

from docx import Document
from docx.oxml.parser import parse_xml

from ragcore.parsing.docx_numbering import Numbering, read_numbering
from ragcore.parsing.docx_package import check_package
from ragcore.parsing.docx_styles import Style, numbering_of, paragraph_style, read_styles
from ragcore.parsing.docx_text import Element, Links, W, paragraph_text, text_boxes
from ragcore.parsing.guard import coded_errors, finished, require_content
from ragcore.parsing.tables import Cell, fill_spans, markdown_table
from ragcore.types import Block, ParsedDocument

_NOTES = (("footnotes", "footnote", ""), ("endnotes", "endnote", "e"))
_FORMULA = re.compile(r"\$[^$\n]+\$")
_TRANSPARENT = frozenset(W + name for name in ("ins", "moveTo", "customXml", "smartTag", "sdtContent"))


class DocxParser:
    """Reads the main text; headers and footers of pages, comments and deleted text are left out."""

    formats = (".docx",)

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, CorruptDocumentError, PasswordProtectedError or ResourceLimitError.

        python-docx reads XML without resolving entities, and follows no external link.
        """
        require_content(content, name=name)
        check_package(content, name=name)
        with coded_errors(name):
            document = Document(BytesIO(content))
            reader = _Reader(document)
            blocks = [*reader.body(), *_notes(document.part, reader.links)]
            said = document.core_properties
            metadata = {"author": said.author, "subject": said.subject, "keywords": said.keywords}
            title = reader.title or _title(blocks, said.title)
            return finished(blocks, name=name, title=title, metadata={k: v for k, v in metadata.items() if v})


class _Reader:
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
            yield Block(kind="paragraph", text=text)

    def _label(self, node: Element, style: Style) -> tuple[str | None, int]:
        """The automatic number of a paragraph and its depth; None where it has none."""
        own = numbering_of(node)
        number, depth = own or style.numbering or ("0", 0)
        if not number and style.numbering:  # the paragraph changes the level only
            number = style.numbering[0]
        return self.numbering.label(number, depth), min(depth, 8)

    def _end_list(self) -> Iterator[Block]:
        if self._items:
            text = "\n".join(self._items)
            self._items = []
            yield Block(kind="list", text=text)

    def _table(self, node: Element) -> Iterator[Block]:
        rows = [row for row in node.iter(W + "tr") if next(row.iterancestors(W + "tbl")) is node]
        rows = [row for row in rows if row.find(f"{W}trPr/{W}del") is None]
        if all(len(list(_cells(row))) <= 1 for row in rows):  # a frame around text, not a table
            for row in rows:
                for cell in _cells(row):
                    yield from self._blocks(cell)
            yield from self._end_list()
            return
        yield Block(kind="table", text=markdown_table(fill_spans(self._grid(rows))))

    def _grid(self, rows: list[Element]) -> list[list[Cell]]:
        """Cells with their spans; Word says "continues" below, the grid wants a count above."""
        grid: list[list[Cell]] = []
        above: dict[int, tuple[int, int]] = {}  # column -> row and index of the cell that may continue there
        for number, row in enumerate(rows):
            cells, column = [], _skipped(row)
            cells += [Cell(text="")] * column
            for node in _cells(row):
                width = _width(node)
                if _continues(node) and column in above:
                    origin, index = above[column]
                    cell = grid[origin][index]
                    grid[origin][index] = Cell(text=cell.text, rows=number - origin + 1, columns=cell.columns)
                else:
                    above[column] = (number, len(cells))
                    cells.append(Cell(text=self._cell_text(node), columns=width))
                column += width
            grid.append(cells)
        return grid

    def _cell_text(self, cell: Element) -> str:
        return " ".join(text for node in cell.iter(W + "p") if (text := paragraph_text(node, self.links)))


def _heading(text: str, level: int) -> Iterator[Block]:
    """A heading in words; formulas in it follow below, as headings are shown where TeX is not."""
    words = " ".join(_FORMULA.sub("", text).split())
    if words:
        yield Block(kind="heading", text=words, level=level)
    for formula in _FORMULA.findall(text):
        yield Block(kind="formula", text=f"${formula}$")


def _cells(row: Element) -> Iterator[Element]:
    for cell in row.iter(W + "tc"):
        if next(cell.iterancestors(W + "tr")) is row:
            yield cell


def _skipped(row: Element) -> int:
    found = row.find(f"{W}trPr/{W}gridBefore")
    return _bounded(found.get(W + "val")) if found is not None else 0


def _width(cell: Element) -> int:
    found = cell.find(f"{W}tcPr/{W}gridSpan")
    return max(1, _bounded(found.get(W + "val"))) if found is not None else 1


def _bounded(value: str | None) -> int:
    return min(int(value), 500) if value and value.isdecimal() else 0


def _continues(cell: Element) -> bool:
    merge = cell.find(f"{W}tcPr/{W}vMerge")
    return merge is not None and merge.get(W + "val") != "restart"


def _is_contents(node: Element) -> bool:
    gallery = node.find(f"{W}sdtPr/{W}docPartObj/{W}docPartGallery")
    return gallery is not None and "table of contents" in (gallery.get(W + "val") or "").lower()


def _links(part: Any) -> Links:
    """Targets of the relationships; those of pictures without the leading slash of their part name."""
    return Links(
        {
            key: link.target_ref if link.is_external else str(link.target_part.partname).lstrip("/")
            for key, link in part.rels.items()
        }
    )


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


def _title(blocks: list[Block], said: str) -> str:
    """The title that the file declares if its text has it too: templates leave "Word Document" and the like."""
    if said and any(said in block.text for block in blocks):
        return said
    return next((block.text for block in blocks if block.kind == "heading"), said)
