"""From a tree of HTML elements to Markdown blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bs4 import Tag
from bs4.element import NavigableString, PreformattedString

from ragcore.parsing.tables import Cell, fill_spans, markdown_table
from ragcore.types import Block, BlockKind

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_SPACE = re.compile(r"[ \t\r\n\f\u00a0]+")
_LANGUAGE = re.compile(r"\b(?:language|lang|highlight-source)-([\w+#-]+)")
_INLINE = frozenset(
    ("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "del", "dfn", "em", "font", "i")
    + ("img", "ins", "kbd", "label", "mark", "math", "nobr", "q", "rp", "rt", "ruby", "s", "samp", "small", "span")
    + ("strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr")
)


class Walker:
    """Collects blocks in document order; inline text gathers until a block element ends it."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._inline: list[str] = []

    def blocks_of(self, root: Tag) -> list[Block]:
        self._children(root)
        self._flush()
        return self.blocks

    def _children(self, tag: Tag) -> None:
        for child in tag.children:
            if isinstance(child, Tag):
                self._visit(child)
            elif isinstance(child, NavigableString) and not isinstance(child, PreformattedString):
                self._inline.append(_SPACE.sub(" ", child))

    def _visit(self, tag: Tag) -> None:
        name = tag.name
        if name in _INLINE and not _holds_blocks(tag):
            self._inline.append(inline_text(tag))
            return
        self._flush()
        if name in _HEADINGS:
            self._add("heading", one_line(tag), _HEADINGS[name])
        elif name in ("ul", "ol", "menu"):
            self._add("list", "\n".join(list_lines(tag)))
        elif name == "dl":
            self._add("list", "\n".join(_definitions(tag)))
        elif name == "table" and is_data_table(tag):
            self._table(tag)
        elif name in ("pre", "textarea"):
            self._add("code", _fence(tag))
        elif name == "blockquote":
            quoted = "\n\n".join(block.markdown() for block in Walker().blocks_of(tag))
            self._add("paragraph", "\n".join(f"> {line}".rstrip() for line in quoted.split("\n")) if quoted else "")
        else:
            self._children(tag)
            self._flush()

    def _table(self, tag: Tag) -> None:
        if caption := tag.find("caption", recursive=False):
            self._add("paragraph", one_line(caption))
        self._add("table", markdown_table(fill_spans(table_rows(tag))))

    def _flush(self) -> None:
        text = _tidy("".join(self._inline))
        self._inline.clear()
        self._add("image" if re.fullmatch(r"!\[[^\]]*\]\([^)]*\)", text) else "paragraph", text)

    def _add(self, kind: BlockKind, text: str, level: int = 0) -> None:
        if text.strip():
            self.blocks.append(Block(kind=kind, text=text, level=level))


def _holds_blocks(tag: Tag) -> bool:
    return tag.find(lambda inner: inner.name not in _INLINE) is not None


def inline_text(node: Tag) -> str:
    """Text of inline elements on which words can be found: pictures as Markdown, links and emphasis as their text."""
    if node.name == "br":
        return "\n"
    if node.name == "img":
        return _image(node)
    if node.name == "math":
        return _formula(node)
    text = "".join(
        inline_text(child) if isinstance(child, Tag) else _SPACE.sub(" ", str(child))
        for child in node.children
        if not isinstance(child, PreformattedString)  # comments
    )
    if node.name in ("code", "kbd", "samp", "tt") and text.strip() and "`" not in text:
        return f"`{text.strip()}`"
    return text


def _image(tag: Tag) -> str:
    alt = _SPACE.sub(" ", str(tag.get("alt") or "")).strip().replace("]", ")").replace("[", "(")
    source = str(tag.get("src") or tag.get("data-src") or "").strip()
    if not source or source.startswith(("data:", "javascript:")):
        return alt
    return f"![{alt}]({source.replace(' ', '%20').replace(')', '%29')})"


def _formula(tag: Tag) -> str:
    source = tag.find("annotation", encoding=re.compile("tex", re.IGNORECASE))
    text = source.get_text() if source else str(tag.get("alttext") or tag.get_text(" "))
    return f"${_SPACE.sub(' ', text).strip()}$"


def one_line(tag: Tag) -> str:
    """All text of an element on one line."""
    return _SPACE.sub(" ", inline_text(tag)).strip()


def _tidy(text: str) -> str:
    lines = (_SPACE.sub(" ", line).strip() for line in text.split("\n"))
    return re.sub(r"\n{2,}", "\n", "\n".join(lines)).strip()


def list_lines(tag: Tag, indent: str = "") -> Iterator[str]:
    """Markdown lines of a list; inner lists are indented under their item."""
    number = int(str(tag.get("start"))) if str(tag.get("start") or "").isdecimal() else 1
    for item in tag.find_all(["li", "ul", "ol"], recursive=False):
        if item.name != "li":  # a list directly inside a list is common, if wrong
            yield from list_lines(item, indent + "  ")
            continue
        mark = f"{number}. " if tag.name == "ol" else "- "
        number += 1
        inner = [child for child in item.find_all(["ul", "ol"]) if child.find_parent("li") is item]
        nested = [line for child in inner for line in list_lines(child.extract(), indent + " " * len(mark))]
        if text := one_line(item):
            yield f"{indent}{mark}{text}"
        yield from nested


def _definitions(tag: Tag) -> Iterator[str]:
    term = ""
    for part in tag.find_all(["dt", "dd"]):
        if part.name == "dt":
            if term:
                yield f"- {term}"
            term = one_line(part)
        else:
            yield f"- {term}: {one_line(part)}" if term else f"  {one_line(part)}"
            term = ""
    if term:
        yield f"- {term}"


def is_data_table(tag: Tag) -> bool:
    """False for tables that lay out a page: those that hold other tables or headings, or a single column."""
    if tag.find("table") or (tag.find(list(_HEADINGS)) and not tag.find("th")):
        return False
    return any(len(row.find_all(["td", "th"], recursive=False)) > 1 for row in tag.find_all("tr"))


def table_rows(tag: Tag) -> list[list[Cell]]:
    return [
        [
            Cell(text=one_line(cell), rows=_span(cell, "rowspan"), columns=_span(cell, "colspan"))
            for cell in row.find_all(["td", "th"], recursive=False)
        ]
        for row in tag.find_all("tr")
    ]


def _span(cell: Tag, name: str) -> int:
    value = str(cell.get(name) or "1").strip()
    return max(1, int(value)) if value.isdecimal() and len(value) < 6 else 1


def _fence(tag: Tag) -> str:
    for line_break in tag.find_all("br"):
        line_break.replace_with("\n")
    body = tag.get_text().strip("\n").rstrip()
    classes = " ".join([*(tag.get("class") or []), *((tag.code.get("class") or []) if tag.code else [])])
    language = found[1] if (found := _LANGUAGE.search(classes)) else ""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", body)), default=0))
    return f"{fence}{language}\n{body}\n{fence}" if body else ""
