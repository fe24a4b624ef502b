"""Content of OpenDocument files: paragraphs, lists, tables, notes and pictures, the same in all three formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ragcore.parsing.number_words import number_text
from ragcore.parsing.office.graphics import OfficePictureCollector
from ragcore.parsing.office.xml import Element, Package, bounded_int
from ragcore.parsing.raised import LOWERED, RAISED, levelled_text
from ragcore.parsing.struck import struck_run, with_struck_marks
from ragcore.parsing.tables import Cell, table_markdown
from ragcore.types import Block

_NS = "urn:oasis:names:tc:opendocument:xmlns:"
TEXT, TABLE, DRAW = f"{{{_NS}text:1.0}}", f"{{{_NS}table:1.0}}", f"{{{_NS}drawing:1.0}}"
OFFICE, STYLE, PRESENTATION = f"{{{_NS}office:1.0}}", f"{{{_NS}style:1.0}}", f"{{{_NS}presentation:1.0}}"
SVG = f"{{{_NS}svg-compatible:1.0}}"
_MATH = "{http://www.w3.org/1998/Math/MathML}"
_XLINK = "{http://www.w3.org/1999/xlink}"
MAX_REPEATS = 200  # of a cell or row that stands for many: more are formatting
MAX_SPACES = 20
MAX_DEPTH = 8

_GONE = frozenset(  # remarks, deleted text, tables of contents, readings above characters, marks without words
    (OFFICE + "annotation", OFFICE + "annotation-end", TEXT + "tracked-changes", TEXT + "table-of-content")
    + (TEXT + "alphabetical-index", TEXT + "illustration-index", TEXT + "table-index", TEXT + "sequence-decls")
    + (TEXT + "ruby-text", TEXT + "page-number", OFFICE + "forms", SVG + "title", SVG + "desc", TEXT + "variable-decls")
)
_FORMATS = {
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
    "一, 二, 三, ...": "chineseCounting",
    "壹, 贰, 叁, ...": "chineseLegalSimplified",
    "甲, 乙, 丙, ...": "ideographTraditional",
    "①, ②, ③, ...": "decimalEnclosedCircle",
    "１, ２, ３, ...": "decimalFullWidth",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How a level of a list is marked: "-" for bullets, otherwise a number between two texts."""

    prefix: str = ""
    suffix: str = ""
    format: str | None = None  # None: a bullet
    start: int = 1


@dataclass(slots=True)
class OdfReader:
    """Walks the content of a document; notes gather until they are asked for."""

    package: Package
    lists: dict[tuple[str, int], Mark]
    levels: Mapping[str, int] = field(default_factory=dict)  # style of letters -> RAISED or LOWERED
    struck: frozenset[str] = frozenset()  # styles of letters that strike them through
    collector: OfficePictureCollector = field(default_factory=OfficePictureCollector)
    notes: list[str] = field(default_factory=list)
    page: int | None = None
    _counts: dict[tuple[str, int], int] = field(default_factory=dict)

    def blocks(self, parent: Element) -> Iterator[Block]:
        """Blocks of the children, in their order."""
        for node in parent:
            tag = node.tag
            if tag in _GONE:
                continue
            if tag == TEXT + "h":
                words = " ".join(self.text(node).split())
                yield Block(
                    kind="heading",
                    text=words,
                    level=bounded_int(node.get(TEXT + "outline-level"), 1, low=1, high=6),
                    page=self.page,
                )
                yield from self._frames(node)
            elif tag == TEXT + "p":
                yield from self._paragraph(node)
            elif tag == TEXT + "list":
                yield Block(kind="list", text="\n".join(self._items(node, 0, "")), page=self.page)
            elif tag == TABLE + "table":
                yield self._table(node)
            elif tag == DRAW + "frame":
                yield from self._frame(node)
            else:
                yield from self.blocks(node)

    def note_blocks(self) -> Iterator[Block]:
        """Foot- and endnotes that the text so far refers to, as Markdown footnotes."""
        for number, note in enumerate(self.notes, 1):
            yield Block(kind="paragraph", text=f"[^{number}]: {note}", page=self.page)

    def text(self, node: Element) -> str:
        """The words of a paragraph; frames in it are left to their own blocks."""
        return with_struck_marks(levelled_text(self._pieces(node, 0))).strip()

    def _pieces(self, node: Element, level: int) -> Iterator[tuple[str, int]]:
        """Texts of an element that stands on a level, each with its own one."""
        yield node.text or "", level
        for child in node:
            tag = child.tag
            if tag == TEXT + "s":
                yield " " * bounded_int(child.get(TEXT + "c"), 1, high=MAX_SPACES), level
            elif tag == TEXT + "tab":
                yield "\t", level
            elif tag == TEXT + "line-break":
                yield "\n", level
            elif tag == TEXT + "note":
                yield self._note(child), 0
            elif tag == DRAW + "frame" and child.get(TEXT + "anchor-type") == "as-char":
                yield self._formula(child) or self._picture(child), 0
            elif tag not in _GONE and not tag.startswith(DRAW):
                style = child.get(TEXT + "style-name") or ""
                inner = self._pieces(child, self.levels.get(style, level))
                yield from ((struck_run(text), at) for text, at in inner) if style in self.struck else inner
            yield child.tail or "", level

    def _note(self, note: Element) -> str:
        body = note.find(TEXT + "note-body")
        words = " ".join(self.text(paragraph) for paragraph in body.iter(TEXT + "p")) if body is not None else ""
        self.notes.append(words)
        return f"[^{len(self.notes)}]"

    def _paragraph(self, node: Element) -> Iterator[Block]:
        text = self.text(node)
        alone = text.startswith("![") and text.endswith(")") and text.count("](") == 1
        yield Block(kind="image" if alone else "paragraph", text=text, page=self.page)
        yield from self._frames(node)

    def _frames(self, paragraph: Element) -> Iterator[Block]:
        """Pictures and text boxes anchored in a paragraph, outermost ones."""
        for frame in paragraph.iter(DRAW + "frame", DRAW + "custom-shape"):
            outer = next(frame.iterancestors(DRAW + "frame"), None)
            if frame.get(TEXT + "anchor-type") == "as-char" and self._object(frame, f"{OFFICE}body") is None:
                continue  # stands in the text of the paragraph
            if outer is None or not _within(outer, paragraph):
                yield from self._frame(frame)

    def _frame(self, frame: Element) -> Iterator[Block]:
        if (chart := self._object(frame, f"{OFFICE}body/{OFFICE}chart")) is not None:
            yield from (self._table(table) for table in chart.iter(TABLE + "table"))
            return
        for inner in frame:
            if inner.tag in (DRAW + "text-box", TABLE + "table", TEXT + "p", TEXT + "list"):
                yield from self.blocks(inner if inner.tag == DRAW + "text-box" else [inner])
        if frame.find(DRAW + "text-box") is None and (text := self._picture(frame)):
            yield Block(kind="image" if text.startswith("![") else "paragraph", text=text, page=self.page)

    def _object(self, frame: Element, path: str) -> Element | None:
        """A part of an embedded object that the file keeps in a folder of its own; None for other frames."""
        for node in frame.findall(DRAW + "object"):
            root = self.package.xml(f"{(node.get(_XLINK + 'href') or '').removeprefix('./')}/content.xml")
            if root is not None:
                return root.find(path) if path else root
        return None

    def _formula(self, frame: Element) -> str:
        """The characters of an embedded formula, without its layout."""
        root = self._object(frame, "")
        if root is None or root.tag != _MATH + "math":
            return ""
        presentation = next(root.iter(_MATH + "semantics"), root)
        words = (node.text or "" for node in presentation.iter() if node.tag != _MATH + "annotation")
        return f"${' '.join(' '.join(words).split())}$"

    def _picture(self, frame: Element) -> str:
        """The first picture of a frame that the file itself holds; programs add others as previews."""
        alt = frame.findtext(SVG + "desc") or frame.findtext(SVG + "title") or ""
        for image in frame.findall(DRAW + "image"):
            part = (image.get(_XLINK + "href") or "").removeprefix("./")
            blob = self.package.blob(part)
            if blob is not None and (text := self.collector.markdown(part, blob, alt=alt, page=self.page)):
                return text
        return ""

    def _items(self, node: Element, depth: int, style: str) -> Iterator[str]:
        style = node.get(TEXT + "style-name") or style
        mark = self.lists.get((style, depth), Mark())
        if node.get(TEXT + "continue-numbering") != "true" and not node.get(TEXT + "continue-list"):
            self._counts[style, depth] = mark.start - 1
        for item in node:
            label = self._label(item, mark, (style, depth))
            for part in item:
                if part.tag == TEXT + "list" and depth < MAX_DEPTH:
                    yield from self._items(part, depth + 1, style)
                elif part.tag in (TEXT + "p", TEXT + "h") and (text := self.text(part)):
                    yield f"{'  ' * depth}{label}{' '.join(text.split())}"
                    label = "  "

    def _label(self, item: Element, mark: Mark, key: tuple[str, int]) -> str:
        if item.tag == TEXT + "list-header":
            return ""
        if mark.format is None:
            return "- "
        following = self._counts.get(key, mark.start - 1) + 1
        self._counts[key] = bounded_int(item.get(TEXT + "start-value"), following)
        return f"{mark.prefix}{number_text(self._counts[key], mark.format)}{mark.suffix} "

    def _table(self, node: Element) -> Block:
        rows = [[_spanned(cell, self.cell_text(cell)) for cell in row_cells(row)] for row in table_rows(node)]
        return Block(kind="table", text=table_markdown(rows), page=self.page)

    def cell_text(self, cell: Element) -> str:
        """All paragraphs of a cell on one line, as the cell shows them; those of a note are no part of it."""
        note = cell.find(OFFICE + "annotation")
        remarks = set(note.iter(TEXT + "p")) if note is not None else set()
        paragraphs = (node for node in cell.iter(TEXT + "p", TEXT + "h") if node not in remarks)
        return " ".join(filter(None, (" ".join(self.text(paragraph).split()) for paragraph in paragraphs)))


def _spanned(cell: Element, text: str) -> Cell:
    rows, columns = (bounded_int(cell.get(f"{TABLE}number-{kind}-spanned"), 1, low=1) for kind in ("rows", "columns"))
    return Cell(text=text, rows=rows, columns=columns)


def table_rows(table: Element) -> Iterator[Element]:
    """The table's own rows; a row that stands for several like it comes as often."""
    for row in table.iter(TABLE + "table-row"):
        if next(row.iterancestors(TABLE + "table")) is table:
            for _ in range(repeats(row, "rows")):
                yield row


def row_cells(row: Element) -> Iterator[Element]:
    """Cells that are not covered by others; one that stands for several like it comes as often."""
    for cell in row.findall(TABLE + "table-cell"):
        for _ in range(repeats(cell, "columns")):
            yield cell


def repeats(node: Element, kind: str) -> int:
    """How often a row or cell with words is repeated; empty ones fill sheets to the last column, and count once."""
    count = bounded_int(node.get(f"{TABLE}number-{kind}-repeated"), 1, low=1)
    return count if count <= MAX_REPEATS else 1


def _within(node: Element, ancestor: Element) -> bool:
    return any(parent is ancestor for parent in node.iterancestors())


def text_levels(*roots: Element | None) -> dict[str, int]:
    """The styles of letters that raise or lower them ("super 58%", "-33% 58%"), by name; a later root wins."""
    levels: dict[str, int] = {}
    for style in (style for root in roots if root is not None for style in root.iter(STYLE + "style")):
        properties = style.find(STYLE + "text-properties")
        shift = ((properties.get(STYLE + "text-position") or "") if properties is not None else "").partition(" ")[0]
        if style.get(STYLE + "family") == "text" and shift and shift.strip("-0%."):
            is_lowered = shift == "sub" or shift.startswith("-")
            levels[style.get(STYLE + "name") or ""] = LOWERED if is_lowered else RAISED
    return levels


def struck_styles(*roots: Element | None) -> frozenset[str]:
    """The styles of letters that strike them through, by name."""
    return frozenset(
        style.get(STYLE + "name") or ""
        for root in roots
        if root is not None
        for style in root.iter(STYLE + "style")
        if (properties := style.find(STYLE + "text-properties")) is not None
        and (properties.get(STYLE + "text-line-through-style") or "none") != "none"
    )


def list_marks(*roots: Element | None) -> dict[tuple[str, int], Mark]:
    """Marks of the list styles by name and 0-based level; a later root wins."""
    marks: dict[tuple[str, int], Mark] = {}
    for root in roots:
        for style in root.iter(TEXT + "list-style") if root is not None else ():
            for level in style:
                depth = bounded_int(level.get(TEXT + "level"), 1, low=1) - 1
                marks[style.get(STYLE + "name") or "", depth] = _mark(level)
    return marks


def _mark(level: Element) -> Mark:
    if level.tag != TEXT + "list-level-style-number" or not level.get(STYLE + "num-format"):
        return Mark()
    return Mark(
        prefix=level.get(STYLE + "num-prefix") or "",
        suffix=level.get(STYLE + "num-suffix") or "",
        format=_FORMATS.get(level.get(STYLE + "num-format") or "", "decimal"),
        start=bounded_int(level.get(TEXT + "start-value"), 1),
    )
