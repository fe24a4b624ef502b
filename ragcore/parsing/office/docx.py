"""Word documents in reading order: headings, lists with their numbers, tables with merged cells filled."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragcore.labels import gettext_noop as _
from ragcore.parsing.header_facts import header_facts, with_facts
from ragcore.parsing.office.docx_file import WordFile, embedded_blocks
from ragcore.parsing.office.docx_headers import cover_lines, header_rows, header_title
from ragcore.parsing.office.docx_numbering import numbering_of, read_numbering
from ragcore.parsing.office.docx_styles import Style, paragraph_style, read_styles
from ragcore.parsing.office.docx_text import (
    Links,
    W,
    character_levels,
    code_line,
    paragraph_text,
    row_cells,
    table_grid,
    table_rows,
    text_boxes,
)
from ragcore.parsing.office.graphics import chart_blocks, diagram_list
from ragcore.parsing.office.package import check_package
from ragcore.parsing.office.xml import Element, Package, core_properties, read_xml
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.parsing.tables import table_markdown
from ragcore.parsing.titles import is_default_title
from ragcore.text.code_blocks import fence_code
from ragcore.text.markdown import without_addresses
from ragcore.types import Block, ParsedDocument

_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_NOTES = (("footnotes", "footnote", ""), ("endnotes", "endnote", "e"))
_FORMULA = re.compile(r"\$[^$\n]+\$")
_TRANSPARENT = frozenset(W + name for name in ("ins", "moveTo", "customXml", "smartTag", "sdtContent"))


class DocxParser:
    """Reads the main text; comments and deleted text are left out, page headers are read for what they say of it."""

    formats = (".docx",)
    media_types = {"application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx"}
    label = _("Word")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises what `ragcore.parsing.parse` raises.

        XML is read without resolving entities, and no external link is followed.
        """
        require_content(content, name=name)
        check_package(content, name=name)
        with coded_errors(name):
            file = WordFile(Package(content), name=name)
            reader = _BodyReader(file)
            blocks = [*reader.body(), *_notes(file, reader.links)]
            facts = header_facts(header_rows(file))
            cover = cover_lines(file, [block.text for block in blocks])
            blocks = [*(Block(kind="paragraph", text=line) for line in cover), *with_facts(blocks, facts)]
            properties = core_properties(file.package)
            declared = properties.pop("title", "")
            metadata = properties | {key: value for key, (_, value) in facts.items()}
            return build_document(
                blocks,
                name=name,
                title=reader.title or _title(blocks, declared) or header_title(file),
                metadata=metadata | reader.links.collector.metadata(),
                pictures=reader.links.collector.pictures(),
            )


class _BodyReader:
    """Walks the body once; list counters and the open list are its state."""

    def __init__(self, file: WordFile) -> None:
        styles = file.related("styles")
        self._file = file
        self.links = file.links(levels=character_levels(styles))
        self.styles = read_styles(styles)
        self.numbering = read_numbering(file.related("numbering"), styles)
        self.title = ""
        self._items: list[str] = []
        self._code: list[str] = []  # lines of the block of code that is open

    def body(self) -> Iterator[Block]:
        yield from self._blocks(self._file.body)
        yield from self._end_list()

    def _blocks(self, parent: Element) -> Iterator[Block]:
        for node in parent:
            if node.tag == W + "p":
                yield from self._paragraph(node)
            elif node.tag == W + "tbl":
                yield from self._end_list()
                yield from self._table(node)
            elif node.tag == W + "altChunk":
                yield from self._end_list()
                yield from embedded_blocks(self._file, node.get(_R + "id") or "", self._embedded_word)
            elif node.tag == W + "sdt" and not _is_contents(node) or node.tag in _TRANSPARENT:
                yield from self._blocks(node)

    def _embedded_word(self, content: bytes) -> Iterator[Block]:
        """The text of another Word file inside this one, once: those inside it stay closed."""
        if not self._file.is_embedded:
            check_package(content, name=self._file.name)
            yield from _BodyReader(WordFile(Package(content), name=self._file.name, is_embedded=True)).body()

    def _paragraph(self, node: Element) -> Iterator[Block]:
        style = paragraph_style(node, self.styles)
        if style.is_code and (line := code_line(node, self.links)) is not None:
            if not self._code:
                yield from self._end_list()
            self._code.append(line)
            return
        text = paragraph_text(node, self.links)
        if style.role == "contents":
            return
        if text:
            yield from self._end_code()
        label, depth = self._label(node, style) if text else (None, 0)
        if style.role == "body" and label is not None:
            # labels such as 第三条 or (a) are no Markdown list marks, and stay what they are
            self._items.append(f"{'  ' * depth}{label}{text}")
        elif text:
            yield from self._end_list()
            yield from self._plain(style, _numbered(label, text))
        for block in self._graphics(node):
            yield from self._end_list()
            yield block
        for box in text_boxes(node):
            yield from self._end_list()
            yield from self._blocks(box)

    def _plain(self, style: Style, text: str) -> Iterator[Block]:
        if style.level:
            text = without_addresses(text)
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
        """The automatic number of a paragraph with the gap behind it, and its depth; None where it has none."""
        direct = numbering_of(node)
        number, depth = direct or style.numbering or ("0", 0)
        if not number and style.numbering:  # the paragraph changes the level only
            number = style.numbering[0]
        if direct is None or not direct[0]:  # a style that names a list stands on the level that names the style
            depth = self.numbering.depth_of(number, style.key, depth) if direct is None else depth
        return self.numbering.label(number, depth), min(depth, 8)

    def _end_code(self) -> Iterator[Block]:
        if any(self._code):
            code = "\n".join(self._code).strip("\n").rstrip()
            yield Block(kind="code", text=fence_code(code))
        self._code = []

    def _end_list(self) -> Iterator[Block]:
        yield from self._end_code()
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
                yield _numbered(label, text)
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


def _numbered(label: str | None, text: str) -> str:
    """A heading or a paragraph of a cell with its number; bullets go."""
    return f"{label}{text}" if label and label != "- " else text


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


def _notes(file: WordFile, links: Links) -> Iterator[Block]:
    """Foot- and endnotes as Markdown footnotes at the end; separators have no text and fall out."""
    for kind, tag, prefix in _NOTES:
        root = file.related(kind)
        for note in root.findall(W + tag) if root is not None else ():
            text = " ".join(filter(None, (paragraph_text(node, links) for node in note.iter(W + "p"))))
            if text:
                yield Block(kind="paragraph", text=f"[^{prefix}{note.get(W + 'id')}]: {text}")


def _title(blocks: list[Block], declared: str) -> str:
    """The title that the file declares if its text has it too: templates leave "Word Document" and the like."""
    declared = "" if is_default_title(declared) else declared
    if declared and any(declared in block.text for block in blocks):
        return declared
    return next((block.text for block in blocks if block.kind == "heading"), declared)
