"""PDF files: reading order, headings, lists, tables and pictures, each with its page and box."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Lock

import pypdfium2
import pypdfium2.raw as pdfium

from ragcore.errors import CorruptDocumentError, PasswordProtectedError, ResourceLimitError
from ragcore.labels import gettext_noop as _
from ragcore.parsing.header_facts import header_facts, with_facts
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.parsing.pdf.blocks import document_title, layout_blocks
from ragcore.parsing.pdf.boilerplate import edge_lines
from ragcore.parsing.pdf.characters import read_page
from ragcore.parsing.pdf.drawing import Drawing, PdfPictureCollector, drop_unkept_pictures
from ragcore.parsing.pdf.layout import PageText
from ragcore.parsing.pdf.ruled_tables import find_grids, split_lines, take_tables
from ragcore.types import Block, ParsedDocument, Picture

MAX_PAGES = 10_000
MAGIC_WITHIN_BYTES = 1024
FEW_CHARS = 60  # a page with no more text and a picture over most of it is a scan with a stamp
SCAN_SHARE = 0.5  # of the page that pictures cover
OUTLINES = 30  # paths on a page without text and pictures: letters that were turned into drawings
HEADER_PAGES = 3  # on which headers are looked for
UNMAPPED = 0.5  # share of characters without a meaning: the text layer is noise

_lock = Lock()  # pdfium is not safe to call from several threads


class PdfParser:
    """Reads the text layer; pages without one are named in `unread_pages`, for character recognition."""

    formats = (".pdf",)
    media_types = {"application/pdf": ".pdf", "application/x-pdf": ".pdf"}
    label = _("PDF")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError (only blank pages), CorruptDocumentError, PasswordProtectedError or
        ResourceLimitError."""
        require_content(content, name=name)
        if b"%PDF-" not in content[:MAGIC_WITHIN_BYTES]:
            raise CorruptDocumentError(name=name, problem="no %PDF header")
        with coded_errors(name):
            with _lock:
                file = _read_file(content, name)
            return _to_document(file, name)


@dataclass(frozen=True, slots=True)
class _File:
    pages: tuple[PageText, ...]
    title: str
    author: str
    unread: tuple[int, ...]
    pictures: tuple[Picture, ...]


def _read_file(content: bytes, name: str) -> _File:
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as problem:
        if problem.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise PasswordProtectedError(name=name) from problem
        raise
    try:
        if len(document) > MAX_PAGES:
            raise ResourceLimitError(name=name, pages=len(document))
        document.init_forms()
        collector = PdfPictureCollector()
        read = list(_pages(document, collector))
        if not read:
            raise CorruptDocumentError(name=name, broken_pages=len(document))
        pictures = collector.kept(pages=len(read))
        names = {picture.name for picture in pictures}
        metadata = document.get_metadata_dict(skip_empty=True)
        return _File(
            tuple(drop_unkept_pictures(page, names) for page, _ in read),
            metadata.get("Title", ""),
            metadata.get("Author", ""),
            tuple(page.number for page, is_unread in read if is_unread),
            pictures,
        )
    finally:
        document.close()


def _pages(document: pypdfium2.PdfDocument, collector: PdfPictureCollector) -> Iterator[tuple[PageText, bool]]:
    """The pages that can be opened, and whether their text must be recognised."""
    for index in range(len(document)):
        try:
            page = document[index]
        except pypdfium2.PdfiumError:  # one page may be broken in a file that is otherwise fine
            continue
        text, drawing = read_page(page, index + 1)
        is_unread = _is_unread(text, drawing)
        if text.unmapped > UNMAPPED:
            text = replace(text, runs=())
        text = _with_tables(text, drawing)
        if not is_unread:
            text = replace(text, runs=(*text.runs, *collector.collect(document, page, text, drawing)))
        page.close()
        yield text, is_unread


def _is_unread(text: PageText, drawing: Drawing) -> bool:
    chars = sum(len(run.text) for run in text.runs)
    if text.unmapped > UNMAPPED:
        return True
    if not chars:
        return bool(drawing.pictures) or drawing.paths >= OUTLINES
    area = text.width * text.height
    covered = sum(abs((x1 - x0) * (y1 - y0)) for x0, y0, x1, y1 in (picture.sides for picture in drawing.pictures))
    return chars <= FEW_CHARS and covered >= SCAN_SHARE * area


def _with_tables(text: PageText, drawing: Drawing) -> PageText:
    """The page with its ruled tables each as one run."""
    across, down = split_lines(drawing.lines)
    if len(across) < 2 or not down or not text.runs:
        return text
    runs, tables = take_tables(text.runs, list(find_grids(across, down)))
    return replace(text, runs=(*runs, *(table.as_run() for table in tables))) if tables else text


def _to_document(file: _File, name: str) -> ParsedDocument:
    layout = layout_blocks(file.pages)
    facts = _header_facts(file.pages, layout.blocks)
    return build_document(
        with_facts(layout.blocks, facts),
        name=name,
        title=document_title(file.title, layout),
        pages=max((page.number for page in file.pages), default=0),
        metadata={
            **({"author": file.author} if file.author else {}),
            **{key: value for key, (_, value) in facts.items()},
        },
        pictures=_shown_pictures(file.pictures, layout.blocks),
        unread_pages=file.unread,
    )


def _header_facts(pages: Sequence[PageText], blocks: Sequence[Block]) -> dict[str, tuple[str, str]]:
    """What headers and footers say of the document: lines at the edges of its first pages that are not in its text."""
    if len(pages) < 2:
        return {}
    full_text = "".join("".join(block.text.split()) for block in blocks)
    lines = edge_lines(pages[:HEADER_PAGES])
    return header_facts(line for line in lines if "".join("".join(line).split()) not in full_text)


def _shown_pictures(pictures: Sequence[Picture], blocks: Sequence[object]) -> tuple[Picture, ...]:
    """Pictures that a block shows; others were part of what repeats on every page."""
    text = "\n".join(getattr(block, "text", "") for block in blocks if getattr(block, "kind", "") == "image")
    return tuple(picture for picture in pictures if f"(picture:{picture.name})" in text)
