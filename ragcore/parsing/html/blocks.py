"""A tree of HTML elements to Markdown blocks, with the cells of data tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bs4 import Tag
from bs4.element import NavigableString, PreformattedString

from ragcore.parsing.html.inline import SPACE, InlineText, is_inline
from ragcore.parsing.html.pictures import WebPictureCollector
from ragcore.parsing.number_words import number_text
from ragcore.parsing.tables import Cell, table_markdown
from ragcore.types import Block, BlockKind

_LISTS = ("ul", "ol", "menu", "dir")
_STANDALONE = frozenset(("heading", "table", "code", "formula"))  # never squeezed into a list item or a quotation
_NUMERALS = {  # types of a list and its style, as formats of office programs
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
    "lower-alpha": "lowerLetter",
    "lower-latin": "lowerLetter",
    "upper-alpha": "upperLetter",
    "upper-latin": "upperLetter",
    "lower-roman": "lowerRoman",
    "upper-roman": "upperRoman",
    "cjk-ideographic": "chineseCounting",
    "simp-chinese-informal": "chineseCounting",
}
_LIST_STYLE = re.compile(r"list-style(?:-type)?\s*:\s*([a-z-]+)", re.IGNORECASE)
_LONE_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LONE_FORMULA = re.compile(r"\$([^$\n]+)\$")
_LANGUAGE = re.compile(r"\b(?:language|lang|highlight-source|highlight|brush:?)[-_: ]+([\w+#-]+)")
_NO_LANGUAGE = frozenset(("text", "none", "default", "plaintext", "console-output"))
_ANCHOR_SIGNS = " \u00b6\U0001f517"  # what documentation generators put behind a heading as its link
HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
LAYOUT_SHARE = 0.6  # a cell with so much of a table's text, and with paragraphs in it, is a column of the page
LAYOUT_CHARACTERS = 1000
MAX_SPAN = 100  # more columns than that means "all of them"


class HtmlBlockBuilder:
    """Collects blocks in document order; inline text gathers until a block element ends it."""

    def __init__(self, collector: WebPictureCollector) -> None:
        self.blocks: list[Block] = []
        self._collector = collector
        self._text = InlineText(collector)
        self._inline: list[str] = []

    def blocks_of(self, root: Tag) -> list[Block]:
        self._children(root)
        self._flush()
        return self.blocks

    def _inside(self, tag: Tag) -> list[Block]:
        return HtmlBlockBuilder(self._collector).blocks_of(tag)

    def _children(self, tag: Tag) -> None:
        for child in list(tag.children):
            if isinstance(child, Tag):
                self._visit(child)
            elif isinstance(child, NavigableString) and not isinstance(child, PreformattedString):
                self._inline.append(SPACE.sub(" ", child))

    def _visit(self, tag: Tag) -> None:
        if is_inline(tag):
            self._inline.append(self._text.text(tag))
            return
        self._flush()
        name = tag.name
        if level := _heading_level(tag):
            self._heading(tag, level)
        elif name in _LISTS:
            self._flow(self._items(tag))
        elif name == "dl":
            self._flow(self._definitions(tag))
        elif name == "table" and is_data_table(tag):
            self._table(tag)
        elif name in ("pre", "xmp", "listing"):
            self._add("code", _fence(tag))
        elif name == "blockquote":
            self._quotation(tag)
        else:
            start = len(self.blocks)
            self._children(tag)
            self._flush()
            if tag.name == "p" and (style := " ".join(tag.get("class") or [])):
                self.blocks[start:] = [replace(block, style=style) for block in self.blocks[start:]]

    def _heading(self, tag: Tag, level: int) -> None:
        text = self._text.line(tag).strip(_ANCHOR_SIGNS)
        if _LONE_IMAGE.fullmatch(text):
            self._add("image", text)
        else:
            self._add("heading", text.removesuffix(" #"), level)

    def _table(self, tag: Tag) -> None:
        if caption := tag.find("caption", recursive=False):
            self._add("paragraph", self._text.line(caption))
            caption.decompose()
        title, cells = table_cells(tag, self._text)
        self._add("paragraph", title)
        self._add("table", table_markdown(cells))

    def _quotation(self, tag: Tag) -> None:
        inner = self._inside(tag)
        if any(block.kind in _STANDALONE for block in inner):  # old pages indent whole sections so
            self.blocks += inner
            return
        quoted = "\n\n".join(block.markdown() for block in inner)
        self._add("paragraph", "\n".join(f"> {line}".rstrip() for line in quoted.split("\n")) if quoted else "")

    # ── lists ───────────────────────────────────────────────────────────────────────────────────

    def _flow(self, parts: Iterator[str | Block]) -> None:
        """Lines become one list block; a table, heading or program inside interrupts it and stays what it is."""
        lines: list[str] = []
        for part in parts:
            if isinstance(part, str):
                lines.append(part)
            else:
                self._add("list", "\n".join(lines))
                lines = []
                self.blocks.append(part)
        self._add("list", "\n".join(lines))

    def _items(self, tag: Tag) -> Iterator[str | Block]:
        number = int(str(tag.get("start"))) if re.fullmatch(r"[0-9]{1,6}", str(tag.get("start") or "")) else 1
        numeral = _numeral_of(tag)
        for child in tag.find_all(True, recursive=False):
            if child.name in _LISTS:  # a list directly inside a list is common, if wrong
                yield from _indented(self._items(child), "  ")
                continue
            if re.fullmatch(r"-?[0-9]{1,6}", value := str(child.get("value") or "")):
                number = int(value)
            mark = f"{number_text(number, numeral)}. " if tag.name == "ol" else "- "
            number += (child.name == "li") * (-1 if tag.has_attr("reversed") else 1)
            yield from _item(self._inside(child), mark)

    def _definitions(self, tag: Tag) -> Iterator[str | Block]:
        """`- term: definition`, or the definition below its term where it is longer than a paragraph."""
        term = ""
        for part in tag.find_all(["dt", "dd"]):
            if enclosing_element(part, "dl") is not tag:
                continue
            if part.name == "dt":
                if term:
                    yield f"- {term}"
                term = self._text.line(part).strip(_ANCHOR_SIGNS)
                continue
            inner = self._inside(part)
            if term and len(inner) == 1 and inner[0].kind == "paragraph":
                inner = [Block(kind="paragraph", text=f"{term}: {inner[0].text}")]
            elif term:
                inner = [Block(kind="paragraph", text=term), *inner]
            yield from _item(inner, "- " if term else "  ")
            term = ""
        if term:
            yield f"- {term}"

    # ── ends of blocks ──────────────────────────────────────────────────────────────────────────

    def _flush(self) -> None:
        text = _tidy("".join(self._inline))
        self._inline.clear()
        if lone := _LONE_FORMULA.fullmatch(text):
            self._add("formula", f"$${lone[1]}$$")
        else:
            self._add("image" if _LONE_IMAGE.fullmatch(text) else "paragraph", text)

    def _add(self, kind: BlockKind, text: str, level: int = 0) -> None:
        if text.strip():
            self.blocks.append(Block(kind=kind, text=text, level=level))


def _heading_level(tag: Tag) -> int:
    """1 to 6; 0 for what is no heading, also where one wraps a table or a program."""
    if tag.name in HEADINGS and not tag.find(["table", "pre", "ul", "ol"]):
        return int(tag.name[1])
    if tag.get("role") == "heading":
        level = str(tag.get("aria-level") or "2")
        return min(int(level), 6) if level.isdecimal() and level != "0" else 2
    return 0


def _item(inner: list[Block], mark: str) -> Iterator[str | Block]:
    """Lines of a list item: the first paragraph behind the mark, what follows indented below it."""
    indent, is_first = " " * len(mark), True
    for block in inner:
        if block.kind in _STANDALONE:
            yield block
        else:
            begins = is_first and block.kind != "list"
            for line in block.text.split("\n"):
                yield f"{mark if begins else indent}{line}"
                begins = False
        is_first = False


def _indented(parts: Iterator[str | Block], indent: str) -> Iterator[str | Block]:
    for part in parts:
        yield indent + part if isinstance(part, str) else part


def _tidy(text: str) -> str:
    lines = (SPACE.sub(" ", line).strip() for line in text.split("\n"))
    return re.sub(r"\n{2,}", "\n", "\n".join(lines)).strip()


def _fence(tag: Tag) -> str:
    for line_break in tag.find_all("br"):
        line_break.replace_with("\n")
    body = tag.get_text().strip("\n").rstrip()
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", body)), default=0))
    return f"{fence}{_language(tag)}\n{body}\n{fence}" if body.strip() else ""


def _language(pre: Tag) -> str:
    """The programming language by the classes of the element, of the code in it, or of what frames it."""
    around = [node for node in (pre.parent, pre.parent.parent if pre.parent else None) if isinstance(node, Tag)]
    for node in (pre, *([pre.code] if pre.code else []), *around):
        attributes = f"{' '.join(node.get('class') or [])} {node.get('data-lang') or ''}"
        if data := str(node.get("data-lang") or node.get("data-language") or ""):
            return data if re.fullmatch(r"[\w+#-]{1,30}", data) else ""
        for match in _LANGUAGE.finditer(attributes):
            return "" if match[1].lower() in _NO_LANGUAGE else match[1]
    return ""


def _numeral_of(tag: Tag) -> str:
    """The number format in which a list counts; "" for digits."""
    style = _LIST_STYLE.search(str(tag.get("style") or ""))
    return _NUMERALS.get(style[1].lower() if style else str(tag.get("type") or ""), "")


def is_data_table(tag: Tag) -> bool:
    """False for tables that lay out a page, frame a text or number the lines of a program."""
    if tag.get("role") in ("presentation", "none") or tag.find("pre"):
        return False
    rows = own_rows(tag)
    if not any(len(own_cells(row)) > 1 for row in rows):
        return False
    has_header = any(cell.name == "th" for row in rows for cell in own_cells(row))
    if tag.find(HEADINGS) and not has_header:
        return False
    if tag.find("table"):
        return _holds_small_tables(tag, has_header=has_header)
    return has_header or not _has_page_column(tag, rows)


def _holds_small_tables(tag: Tag, *, has_header: bool) -> bool:
    """Tables inside cells are part of the data only where the outer table says that it is one."""
    declares = has_header or tag.find("caption", recursive=False) is not None or str(tag.get("border") or "0") != "0"
    inner = sum(
        len(table.get_text(strip=True)) for table in tag.find_all("table") if enclosing_element(table, "table") is tag
    )
    return declares and inner < LAYOUT_SHARE * len(tag.get_text(strip=True))


def _has_page_column(tag: Tag, rows: Sequence[Tag]) -> bool:
    whole = len(tag.get_text(strip=True))
    if whole < LAYOUT_CHARACTERS:
        return False
    cells = (cell for row in rows for cell in own_cells(row))
    return any(
        len(cell.get_text(strip=True)) > LAYOUT_SHARE * whole and len(cell.find_all(["p", "div", "ul"])) > 2
        for cell in cells
    )


def enclosing_element(node: Tag, name: str) -> Tag | None:
    """The nearest element of this name around a node."""
    return node.find_parent(name)


def own_rows(tag: Tag) -> list[Tag]:
    """The rows of a table without those of tables inside it."""
    return [row for row in tag.find_all("tr") if enclosing_element(row, "table") is tag]


def own_cells(row: Tag) -> list[Tag]:
    return row.find_all(["td", "th"], recursive=False)


def table_cells(tag: Tag, inline: InlineText) -> tuple[str, list[list[Cell]]]:
    """A title that stands alone in the first row, and the rows of cells below it."""
    rows = own_rows(tag)
    widest = max((len(own_cells(row)) for row in rows), default=1)
    cells = [[_cell(cell, inline, widest) for cell in own_cells(row)] for row in rows]
    if len(cells) > 2 and len(cells[0]) == 1 and len(cells[1]) > 1 and cells[0][0].columns > 1:
        return cells[0][0].text, cells[1:]
    return "", cells


def _cell(tag: Tag, inline: InlineText, widest: int) -> Cell:
    _flatten_tables(tag)
    for item in tag.find_all("li")[:-1]:
        item.append("; ")  # items of a list would run into each other
    text = inline.line(tag).replace(" ;", ";")
    columns = _span(tag, "colspan")
    return Cell(text=text, rows=_span(tag, "rowspan"), columns=min(columns, widest) if columns > MAX_SPAN else columns)


def _flatten_tables(cell: Tag) -> None:
    """Small tables inside a cell become text: `name: value; name: value`."""
    for table in reversed(cell.find_all("table")):  # inner ones first
        for row in own_rows(table):
            parts = own_cells(row)
            for position, part in enumerate(parts):
                part.name = "span"
                part.append("; " if position == len(parts) - 1 else ": " if position == 0 else ", ")
        table.name = "span"


def _span(cell: Tag, name: str) -> int:
    value = str(cell.get(name) or "1").strip()
    return max(1, int(value)) if value.isdecimal() and len(value) < 6 else 1
