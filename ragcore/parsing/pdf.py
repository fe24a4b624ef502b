"""PDF files with a text layer: reading order, headings, lists and tables, each with its page and box (D9, D24)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from ragcore.errors import CorruptDocumentError, EmptyDocumentError, PasswordProtectedError, ResourceLimitError
from ragcore.parsing.guard import coded_errors, finished, require_content
from ragcore.parsing.pdf_chars import CJK, PageText, read_page
from ragcore.parsing.pdf_furniture import without_furniture
from ragcore.parsing.pdf_headings import HeadingSizes, heading_sizes, title_of
from ragcore.parsing.pdf_layout import Row, flows
from ragcore.parsing.pdf_paragraphs import BULLET, Paragraph, joined, paragraphs
from ragcore.parsing.pdf_tables import split_tables, table_markdown
from ragcore.types import Block, Box, ParsedDocument

MAX_PAGES = 10_000
MAGIC_WITHIN_BYTES = 1024
MIN_CHARS_A_PAGE = 8  # fewer on average, and pictures: a scan with a stamp

_lock = Lock()  # pdfium is not safe to call from several threads


class PdfParser:
    """Reads the text layer; scans are reported, not read."""

    formats = (".pdf",)

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError (data `needs_ocr` and `pages` for scans), CorruptDocumentError,
        PasswordProtectedError or ResourceLimitError."""
        require_content(content, name=name)
        if b"%PDF-" not in content[:MAGIC_WITHIN_BYTES]:
            raise CorruptDocumentError(name=name, problem="no %PDF header")
        with coded_errors(name):
            with _lock:
                file = _read(content, name)
            return _document(file, name)


@dataclass(frozen=True, slots=True)
class _File:
    pages: tuple[PageText, ...]
    title: str
    author: str
    scanned: tuple[int, ...]  # pages with pictures and no text


@dataclass(frozen=True, slots=True)
class _Part:
    """A table or a paragraph on its page; `first` marks the beginning of a column or page."""

    page: PageText
    rows: tuple[Row, ...]
    paragraph: Paragraph | None
    table: str = ""
    first: bool = False


def _read(content: bytes, name: str) -> _File:
    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as problem:
        if problem.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise PasswordProtectedError(name=name) from problem
        raise
    try:
        if len(document) > MAX_PAGES:
            raise ResourceLimitError(name=name, pages=len(document))
        pages, scanned, broken = [], [], 0
        for index in range(len(document)):
            try:
                page = document[index]
            except pypdfium2.PdfiumError:  # one page may be broken in a file that is otherwise fine
                broken += 1
                continue
            text = read_page(page, index + 1)
            pages.append(text)
            if not text.runs and _has_picture(page):
                scanned.append(index + 1)
            page.close()
        if not pages:
            raise CorruptDocumentError(name=name, broken_pages=broken)
        _require_text(pages, scanned, name)
        said = document.get_metadata_dict(skip_empty=True)
        return _File(tuple(pages), said.get("Title", ""), said.get("Author", ""), tuple(scanned))
    finally:
        document.close()


def _has_picture(page: Any) -> bool:
    return next(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3), None) is not None


def _require_text(pages: Sequence[PageText], scanned: Sequence[int], name: str) -> None:
    chars = sum(len(run.text) for page in pages for run in page.runs)
    if not chars or (scanned and chars < MIN_CHARS_A_PAGE * len(pages)):
        raise EmptyDocumentError(
            "The PDF has no text layer; it must be read by character recognition.",
            name=name,
            needs_ocr=True,
            pages=len(pages),
        )


def _document(file: _File, name: str) -> ParsedDocument:
    parts = [part for page in without_furniture(file.pages) for part in _parts(page)]
    prose = [part.paragraph for part in parts if part.paragraph is not None]
    sizes = heading_sizes(prose)
    blocks = _continued(parts, [_block(part, sizes) for part in parts])
    metadata = {"author": file.author, "pages_without_text": ",".join(map(str, file.scanned))}
    first_page = [part.paragraph for part in parts if part.page.number == 1 and part.paragraph is not None]
    title = file.title if _is_title(file.title) else title_of(sizes, first_page)
    return finished(
        _lists(blocks),
        name=name,
        title=title,
        pages=len(file.pages),
        metadata={key: value for key, value in metadata.items() if value},
    )


def _is_title(text: str) -> bool:
    """False for what programs leave as a title: numbers, file names, "Microsoft Word - …", nothing."""
    generated = re.search(r"\.\w{2,4}$|^(?:microsoft|untitled|slide|幻灯片|无标题)|[\\/]", text.strip(), re.IGNORECASE)
    return generated is None and sum(char.isalpha() for char in text) > 2


def _parts(page: PageText) -> Iterator[_Part]:
    for rows in flows(page.runs):
        first = True
        for is_table, stretch in split_tables(rows):
            table = table_markdown(stretch) if is_table else ""
            if table:
                yield _Part(page, tuple(stretch), None, table, first)
                first = False
                continue
            for paragraph in paragraphs(stretch):
                yield _Part(page, paragraph.rows, paragraph, "", first)
                first = False


def _block(part: _Part, sizes: HeadingSizes) -> Block:
    rows, page = part.rows, part.page.number
    box = part.page.shown(
        min(row.x0 for row in rows),
        min(row.y0 for row in rows),
        max(row.x1 for row in rows),
        max(row.y1 for row in rows),
    )
    if part.paragraph is None:
        return Block(kind="table", text=part.table, page=page, box=box)
    level, text = sizes.level(part.paragraph), part.paragraph.text
    if level:
        return Block(kind="heading", text=text, level=level, page=page, box=box)
    if part.paragraph.is_item:
        return Block(kind="list", text=f"- {BULLET.sub('', text, count=1)}", page=page, box=box)
    return Block(kind="paragraph", text=text, page=page, box=box)


def _continued(parts: Sequence[_Part], blocks: Sequence[Block]) -> list[Block]:
    """Paragraphs that run on in the next column or page are one block, with the box of their beginning."""
    result: list[Block] = []
    open_part: _Part | None = None
    for part, block in zip(parts, blocks, strict=True):
        if part.first and open_part is not None and result and _goes_on(open_part, part, result[-1], block):
            result[-1] = replace(result[-1], text=joined(result[-1].text, block.text))
        else:
            result.append(block)
        open_part = part
    return result


def _goes_on(before: _Part, part: _Part, last: Block, block: Block) -> bool:
    if before.paragraph is None or part.paragraph is None or last.kind != "paragraph" or block.kind != "paragraph":
        return False
    same_size = abs(before.paragraph.size - part.paragraph.size) < 0.05 * part.paragraph.size
    first = part.paragraph.text[0]
    running_on = first.islower() or (first >= CJK and before.paragraph.text[-1] >= CJK)
    return same_size and before.paragraph.is_open and running_on and len(before.paragraph.text) > 20


def _lists(blocks: Sequence[Block]) -> Iterator[Block]:
    """Items that follow each other on a page are one list."""
    open_list: Block | None = None
    for block in blocks:
        if open_list is not None and block.kind == "list" and block.page == open_list.page:
            open_list = replace(open_list, text=f"{open_list.text}\n{block.text}", box=_around(open_list, block))
            continue
        if open_list is not None:
            yield open_list
            open_list = None
        if block.kind == "list":
            open_list = block
        else:
            yield block
    if open_list is not None:
        yield open_list


def _around(one: Block, other: Block) -> Box | None:
    if one.box is None or other.box is None:
        return one.box or other.box
    a, b = one.box, other.box
    return Box(page=a.page, x0=min(a.x0, b.x0), y0=min(a.y0, b.y0), x1=max(a.x1, b.x1), y1=max(a.y1, b.y1))
