"""OpenDocument files: texts (.odt), spreadsheets (.ods) and presentations (.odp)."""

from __future__ import annotations

from collections.abc import Iterator

from ragcore.errors import CorruptDocumentError, ResourceLimitError
from ragcore.labels import gettext_noop as _
from ragcore.parsing.office.odf_text import (
    DRAW,
    OFFICE,
    PRESENTATION,
    TABLE,
    TEXT,
    OdfReader,
    list_marks,
    struck_styles,
    text_levels,
)
from ragcore.parsing.office.package import check_package
from ragcore.parsing.office.xml import Element, Package, bounded_int
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.parsing.sheets import Grid, Merge, grid_blocks, with_note
from ragcore.text.scripts import language_of
from ragcore.types import Block, ParsedDocument

_DC = "{http://purl.org/dc/elements/1.1/}"
MAX_CELLS = 1_000_000  # with text, of one workbook
MAX_PLACES = 2_000_000  # rows or columns; programs repeat empty ones up to their last one
_CELLS = (TABLE + "table-cell", TABLE + "covered-table-cell")
_FURNITURE = frozenset(("header", "footer", "date-time", "page-number", "page"))


class OdtParser:
    """Headings, paragraphs, lists, tables, notes and pictures; page headers, remarks and deleted text are left out."""

    formats = (".odt",)
    media_types = {"application/vnd.oasis.opendocument.text": ".odt"}
    label = _("OpenDocument")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises what `ragcore.parsing.parse` raises."""
        with coded_errors(name):
            reader, body = open_document(content, name=name, kind="text")
            blocks = [*reader.blocks(body), *reader.note_blocks()]
            heading = next((block.text for block in blocks if block.kind == "heading"), "")
            metadata = document_metadata(reader.package)
            return build_document(
                blocks,
                name=name,
                title=metadata.pop("title", "") or heading,
                metadata=metadata | reader.collector.metadata(),
                pictures=reader.collector.pictures(),
            )


def open_document(content: bytes, *, name: str, kind: str) -> tuple[OdfReader, Element]:
    """A reader and the body of a package: "text", "spreadsheet" or "presentation".

    Raises EmptyDocumentError, CorruptDocumentError, PasswordProtectedError, ResourceLimitError, UnsafeArchiveError.
    """
    require_content(content, name=name)
    check_package(content, name=name)
    package = Package(content)
    root = package.xml("content.xml")
    body = root.find(f"{OFFICE}body/{OFFICE}{kind}") if root is not None else None
    if body is None:
        raise CorruptDocumentError(name=name, problem=f"no {kind} inside")
    styles = package.xml("styles.xml")
    reader = OdfReader(
        package, list_marks(styles, root), levels=text_levels(styles, root), struck=struck_styles(styles, root)
    )
    return reader, body


def document_metadata(package: Package) -> dict[str, str]:
    """Title, author and subject as far as the file has them."""
    root = package.xml("meta.xml")
    if root is None:
        return {}
    metadata = {
        key: (root.findtext(f".//{_DC}{tag}") or "").strip()
        for key, tag in (("title", "title"), ("author", "creator"), ("subject", "subject"))
    }
    return {key: value for key, value in metadata.items() if value}


class OdsParser:
    """Every sheet, hidden ones too."""

    formats = (".ods",)
    media_types = {"application/vnd.oasis.opendocument.spreadsheet": ".ods"}
    label = _("OpenDocument")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises what `ragcore.parsing.parse` raises."""
        with coded_errors(name):
            reader, body = open_document(content, name=name, kind="spreadsheet")
            blocks = [block for sheet in body.findall(TABLE + "table") for block in _sheet_blocks(reader, sheet, name)]
            metadata = document_metadata(reader.package)
            return build_document(
                blocks,
                name=name,
                title=metadata.pop("title", ""),
                metadata=metadata | reader.collector.metadata(),
                pictures=reader.collector.pictures(),
            )


def _sheet_blocks(reader: OdfReader, sheet: Element, name: str) -> Iterator[Block]:
    grid = _sheet_grid(reader, sheet, name)
    pictures = [block for shapes in sheet.findall(TABLE + "shapes") for block in reader.blocks(shapes)]
    pictures += [
        block
        for cell in sheet.iter(TABLE + "table-cell")
        if cell.find(DRAW + "frame") is not None
        for block in reader.blocks(cell.findall(DRAW + "frame"))
    ]
    if grid.rows or pictures:
        yield Block(kind="heading", text=" ".join((sheet.get(TABLE + "name") or "").split()), level=1)
        yield from grid_blocks(grid)
        yield from pictures


def _sheet_grid(reader: OdfReader, sheet: Element, name: str) -> Grid:
    """Texts by place. Repeated cells and rows without text only move the place."""
    rows: dict[int, dict[int, str]] = {}
    merges: list[Merge] = []
    number, count = 0, 0
    for row in sheet.iter(TABLE + "table-row"):
        cells, row_merges = _sheet_row(reader, row, number)
        height = _count(row, "rows")
        count += len(cells) * height
        if count > MAX_CELLS:
            raise ResourceLimitError(name=name, limit=f"{MAX_CELLS} cells")
        if cells:
            rows.update((number + offset, cells) for offset in range(height))
            merges += row_merges
        number += height
    return Grid(rows=rows, merges=merges)


def _sheet_row(reader: OdfReader, row: Element, number: int) -> tuple[dict[int, str], list[Merge]]:
    cells: dict[int, str] = {}
    merges: list[Merge] = []
    column = 0
    for cell in row:
        if cell.tag not in _CELLS:
            continue
        width = _count(cell, "columns")
        if cell.tag == _CELLS[0] and (text := _noted_text(reader, cell)):
            if len(cells) + width > MAX_CELLS:
                raise ResourceLimitError(limit=f"{MAX_CELLS} cells")
            cells.update(dict.fromkeys(range(column, column + width), text))
            tall, wide = _span(cell, "rows"), _span(cell, "columns")
            if (tall, wide) != (1, 1):
                merges.append(Merge(top=number, left=column, bottom=number + tall - 1, right=column + wide - 1))
        column += width
    return cells, merges


def _noted_text(reader: OdfReader, cell: Element) -> str:
    """A cell with the note that people see beside it."""
    text, note = reader.cell_text(cell), cell.find(OFFICE + "annotation")
    words = " ".join("".join(part.itertext()) for part in note.iter(TEXT + "p")) if note is not None else ""
    return with_note(text, " ".join(words.split())) if words.strip() else text


def _count(node: Element, kind: str) -> int:
    return bounded_int(node.get(f"{TABLE}number-{kind}-repeated"), 1, low=1, high=MAX_PLACES)


def _span(cell: Element, kind: str) -> int:
    return bounded_int(cell.get(f"{TABLE}number-{kind}-spanned"), 1, low=1, high=MAX_PLACES)


class OdpParser:
    """Every slide; the page of a block is the number of its slide."""

    formats = (".odp",)
    media_types = {"application/vnd.oasis.opendocument.presentation": ".odp"}
    label = _("OpenDocument")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises what `ragcore.parsing.parse` raises."""
        with coded_errors(name):
            reader, body = open_document(content, name=name, kind="presentation")
            slides = body.findall(DRAW + "page")
            blocks = [block for number, slide in enumerate(slides, 1) for block in _slide_blocks(reader, slide, number)]
            metadata = document_metadata(reader.package)
            return build_document(
                blocks,
                name=name,
                title=metadata.pop("title", "") or _first_title(reader, slides),
                pages=len(slides),
                metadata=metadata | reader.collector.metadata(),
                pictures=reader.collector.pictures(),
            )


def _slide_blocks(reader: OdfReader, slide: Element, number: int) -> Iterator[Block]:
    reader.page = number
    title = _title(slide)
    shapes = [shape for shape in slide if shape is not title and shape.get(PRESENTATION + "class") not in _FURNITURE]
    content = [block for shape in shapes if shape.tag != PRESENTATION + "notes" for block in reader.blocks([shape])]
    notes = _notes(reader, slide)
    heading = reader.cell_text(title) if title is not None else ""
    if not (heading or notes or any(block.text.strip() for block in content)):
        return
    is_chinese = language_of(" ".join([heading, notes, *(block.text for block in content)])) == "zh"
    heading = heading or (f"第 {number} 页" if is_chinese else f"Slide {number}")
    yield Block(kind="heading", text=heading, level=1, page=number)
    yield from content
    if notes:
        yield Block(kind="paragraph", text=f"{'备注：' if is_chinese else 'Notes: '}{notes}", page=number)


def _title(slide: Element) -> Element | None:
    return next((shape for shape in slide if shape.get(PRESENTATION + "class") == "title"), None)


def _first_title(reader: OdfReader, slides: list[Element]) -> str:
    titles = (reader.cell_text(title) for slide in slides if (title := _title(slide)) is not None)
    return next(filter(None, titles), "")


def _notes(reader: OdfReader, slide: Element) -> str:
    """The speaker's notes on one line."""
    frames = [
        frame
        for notes in slide.findall(PRESENTATION + "notes")
        for frame in notes.iter(DRAW + "frame")
        if frame.get(PRESENTATION + "class") == "notes"
    ]
    return " ".join(" ".join(reader.text(part).split()) for frame in frames for part in frame.iter(TEXT + "p")).strip()
