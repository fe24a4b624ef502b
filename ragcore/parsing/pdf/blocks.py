"""Pages of runs to blocks; PDF text and recognised text share it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from ragcore.parsing.pdf.aligned_tables import aligned_table_markdown, repeat_header, split_tables
from ragcore.parsing.pdf.boilerplate import drop_boilerplate
from ragcore.parsing.pdf.layout import CJK, Insert, PageText, Row, column_flows
from ragcore.parsing.pdf.paragraphs import (
    BULLET,
    HeadingSizes,
    Paragraph,
    goes_on_with_range,
    heading_sizes,
    hyphenated_words,
    join_lines,
    largest_heading,
    paragraphs,
)
from ragcore.parsing.titles import is_default_title
from ragcore.types import Block, Box

NOTE_SIZE = 0.93  # of the body size: footnotes are set smaller
NOTE_AREA = 0.5  # of the page height below which footnotes stand
PAGE_END = 0.25  # of the page height, at its top and bottom
_GENERATED = re.compile(r"\.\w{2,4}$|^(?:microsoft|untitled|slide|scan|幻灯片|无标题)|[\\/]", re.IGNORECASE)
_NOTE = re.compile(r"(?:[*∗†‡§¶①-⑳]|[\[(（]?\d{1,2}[\])）]?|注[:：\s\d])\s?\S")
_LIGATURES = str.maketrans({"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"})


@dataclass(frozen=True, slots=True)
class Layout:
    """The blocks of a document in reading order, and the largest heading of its first page."""

    blocks: tuple[Block, ...]
    heading: str = ""


@dataclass(frozen=True, slots=True)
class _Part:
    """A table, picture or paragraph on its page; `first` marks the beginning of a column or page."""

    page: PageText
    rows: tuple[Row, ...]
    paragraph: Paragraph | None
    table: str = ""
    first: bool = False
    insert: Insert | None = None
    is_note: bool = False


def layout_blocks(pages: Sequence[PageText], *, are_pages: bool = True) -> Layout:
    """Blocks of the pages without headers, footers, page numbers and tables of contents.

    A picture has none of these: with `are_pages` False everything is kept.
    """
    cleaned = drop_boilerplate(pages) if are_pages else pages
    compounds = hyphenated_words(run.text for page in cleaned for run in page.runs)
    by_page = [list(_parts(page, compounds)) for page in cleaned]
    sizes = heading_sizes(part.paragraph for parts in by_page for part in parts if part.paragraph is not None)
    parts = [part for page in by_page for part in _move_footnotes_last(page, sizes.body)]
    blocks = _join_continuations(parts, [_block(part, sizes) for part in parts])
    first_page = [part.paragraph for part in parts if part.page.number == 1 and part.paragraph is not None]
    return Layout(tuple(_close_level_gaps(list(_lists(blocks)))), largest_heading(sizes, first_page))


def document_title(declared: str, layout: Layout) -> str:
    """What the file says, unless a program left it there: numbers, file names, "Microsoft Word - …", nothing."""
    is_generated = is_default_title(declared) or _GENERATED.search(declared.strip()) is not None
    return declared if not is_generated and sum(char.isalpha() for char in declared) > 2 else layout.heading


def _parts(page: PageText, compounds: Set[str]) -> Iterator[_Part]:
    for rows in column_flows(page.runs):
        first = True
        for stretch, inserts in _stretches(rows):
            for part in _text_parts(page, stretch, compounds):
                yield replace(part, first=first)
                first = False
            for insert in inserts:
                yield _Part(page, (), None, insert.text if insert.kind == "table" else "", first, insert)
                first = False


def _stretches(rows: Sequence[Row]) -> Iterator[tuple[list[Row], list[Insert]]]:
    """Rows up to the next tables or pictures, and these."""
    text: list[Row] = []
    for row in rows:
        inserts = [cell.insert for cell in row.cells if cell.insert is not None]
        cells = tuple(cell for cell in row.cells if cell.insert is None)
        if cells:
            text.append(Row(cells) if inserts else row)
        if inserts:
            yield text, inserts
            text = []
    if text:
        yield text, []


def _text_parts(page: PageText, rows: Sequence[Row], compounds: Set[str]) -> Iterator[_Part]:
    for is_table, stretch in split_tables(rows):
        table = aligned_table_markdown(stretch) if is_table else ""
        if table:
            yield _Part(page, tuple(stretch), None, table)
            continue
        for paragraph in paragraphs(stretch, compounds):
            yield _Part(page, paragraph.rows, paragraph)


def _move_footnotes_last(parts: Sequence[_Part], body: float) -> list[_Part]:
    """The parts of a page with footnotes moved behind the text that they interrupt."""
    notes: list[_Part] = []
    text: list[_Part] = []
    in_note = False
    for part in parts:
        small = part.paragraph is not None and part.paragraph.size < NOTE_SIZE * body
        low = bool(part.rows) and part.rows[0].y0 > NOTE_AREA * part.page.height
        starts = small and low and part.paragraph is not None and _NOTE.match(part.paragraph.text) is not None
        in_note = starts or (in_note and small and low and not part.first)
        if not in_note:
            text.append(part)
        elif starts or not notes or part.rows[0].y0 - notes[-1].rows[-1].y1 > part.rows[0].size:
            notes.append(replace(part, is_note=True, first=False))
        else:
            notes[-1] = _with_more(notes[-1], part)
    return text + notes


def _with_more(note: _Part, part: _Part) -> _Part:
    if note.paragraph is None or part.paragraph is None:
        return note
    text = join_lines(note.paragraph.text, part.paragraph.text)
    return replace(note, rows=(*note.rows, *part.rows), paragraph=replace(note.paragraph, text=text))


def _block(part: _Part, sizes: HeadingSizes) -> Block:
    page, box = part.page.number, part.page.shown(*_area(part))
    if part.insert is not None:
        return Block(kind=part.insert.kind, text=part.insert.text, page=page, box=box)
    if part.paragraph is None:
        return Block(kind="table", text=part.table.translate(_LIGATURES), page=page, box=box)
    level, text = sizes.level(part.paragraph), part.paragraph.text.translate(_LIGATURES)
    if level and not part.is_note:
        return Block(kind="heading", text=text, level=level, page=page, box=box)
    if part.paragraph.is_item:
        return Block(kind="list", text=f"- {BULLET.sub('', text, count=1)}", page=page, box=box)
    return Block(kind="paragraph", text=text, page=page, box=box)


def _area(part: _Part) -> tuple[float, float, float, float]:
    if part.insert is not None:
        return part.insert.x0, part.insert.y0, part.insert.x1, part.insert.y1
    rows = part.rows
    x0, y0 = min(row.x0 for row in rows), min(row.y0 for row in rows)
    return x0, y0, max(row.x1 for row in rows), max(row.y1 for row in rows)


def _join_continuations(parts: Sequence[_Part], blocks: Sequence[Block]) -> list[Block]:
    """Paragraphs that run on in the next column or page are one block, with the box of their beginning.

    Footnotes and pictures between the halves stay behind them. A table that runs on repeats its header.
    """
    result: list[Block] = []
    open_part: _Part | None = None
    at = 0  # index of the open part's block in the result
    for part, block in zip(parts, blocks, strict=True):
        if part.is_note or block.kind == "image":
            result.append(block)
            continue
        if part.first and open_part is not None and _continues_paragraph(open_part, part, result[at], block):
            result[at] = replace(result[at], text=join_lines(result[at].text, block.text))
        else:
            if open_part is not None and _is_next_page(open_part, part) and result[at].kind == block.kind == "table":
                block = replace(block, text=repeat_header(result[at].text, block.text))
            at = len(result)
            result.append(block)
        open_part = part
    return result


def _is_next_page(before: _Part, part: _Part) -> bool:
    """Whether one part ends a page and the other begins the following one."""
    low = _area(before)[3] > (1 - PAGE_END) * before.page.height
    high = _area(part)[1] < PAGE_END * part.page.height
    return low and high and part.page.number == before.page.number + 1


def _continues_paragraph(before: _Part, part: _Part, last: Block, block: Block) -> bool:
    if before.paragraph is None or part.paragraph is None or last.kind != "paragraph" or block.kind != "paragraph":
        return False
    same_size = abs(before.paragraph.size - part.paragraph.size) < 0.05 * part.paragraph.size
    first = part.paragraph.text[0]
    last_row = before.rows[-1]
    is_full = len(before.rows) > 2 and last_row.x1 >= max(row.x1 for row in before.rows) - last_row.size
    running_on = (
        first.islower()
        or (first >= CJK and before.paragraph.text[-1] >= CJK)
        or (first.isalpha() and is_full)
        or goes_on_with_range(before.paragraph.text, part.paragraph.text)
    )
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


def _around(first: Block, other: Block) -> Box | None:
    if first.box is None or other.box is None:
        return first.box or other.box
    a, b = first.box, other.box
    return Box(page=a.page, x0=min(a.x0, b.x0), y0=min(a.y0, b.y0), x1=max(a.x1, b.x1), y1=max(a.y1, b.y1))


def _close_level_gaps(blocks: Sequence[Block]) -> Iterator[Block]:
    """Headings on consecutive levels from 1; sizes and numbers may leave levels out."""
    used = sorted({block.level for block in blocks if block.kind == "heading"})
    for block in blocks:
        yield replace(block, level=used.index(block.level) + 1) if block.kind == "heading" else block
