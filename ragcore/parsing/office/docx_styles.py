"""Which Word paragraphs are headings, and at which level, by style name or outline level."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ragcore.parsing.office.docx_text import Element, W

_HEADING = re.compile(r"(?:heading|标题|標題|überschrift|titre|título)\s*([1-9])(?!\d)", re.IGNORECASE)
_TITLE = re.compile(r"(?:title|标题|標題|文档标题)", re.IGNORECASE)
_CONTENTS = re.compile(r"(?:toc|目录|目錄|table of figures|图表目录)\s*\d*(?:\s*heading)?|toc heading", re.IGNORECASE)
MAX_CHAIN = 20  # styles based on each other in a circle exist

Role = Literal["heading", "title", "contents", "body"]


@dataclass(frozen=True, slots=True)
class Style:
    """What matters of a paragraph style, inheritance resolved."""

    role: Role = "body"
    level: int = 0  # headings: 1 to 6
    numbering: tuple[str, int] | None = None  # numId and level of the list that the style belongs to


BODY = Style()


def read_styles(root: Element) -> dict[str, Style]:
    """Paragraph styles by id; the default style also under ""."""
    declared = {node.get(W + "styleId"): node for node in root.findall(W + "style")}
    styles = {key: _resolved(list(_chain(key, declared))) for key in declared if key}
    for key, node in declared.items():
        if node.get(W + "default") in ("1", "true") and node.get(W + "type") == "paragraph":
            styles[""] = styles[key]
    return styles


def paragraph_style(paragraph: Element, styles: dict[str, Style]) -> Style:
    """The style of a paragraph; its own outline level wins."""
    named = paragraph.find(f"{W}pPr/{W}pStyle")
    style = styles.get((named.get(W + "val") or "") if named is not None else "", BODY)
    own = _outline_level(paragraph)
    if own is not None and style.role == "body" and own < 9:
        return Style("heading", min(own + 1, 6), style.numbering)
    return style


def _chain(key: str, declared: dict[str, Element]) -> Iterator[Element]:
    """A style and those it is based on."""
    for _ in range(MAX_CHAIN):
        node = declared.get(key)
        if node is None:
            return
        yield node
        base = node.find(W + "basedOn")
        key = (base.get(W + "val") or "") if base is not None else ""


def _resolved(chain: list[Element]) -> Style:
    names = [(name.get(W + "val") or "").strip() for node in chain if (name := node.find(W + "name")) is not None]
    numbering = next((found for node in chain if (found := numbering_of(node)) is not None), None)
    if any(_CONTENTS.fullmatch(name) for name in names):
        return Style("contents")
    if names and _TITLE.fullmatch(names[0]):
        return Style("title", 1)
    for node, name in zip(chain, names, strict=False):
        if heading := _HEADING.match(name):
            return Style("heading", min(int(heading[1]), 6), numbering)
        if (level := _outline_level(node)) is not None:
            return Style("heading", min(level + 1, 6), numbering) if level < 9 else Style("body", 0, numbering)
    return Style("body", 0, numbering)


def _outline_level(node: Element) -> int | None:
    found = node.find(f"{W}pPr/{W}outlineLvl")
    value = found.get(W + "val") if found is not None else None
    return int(value) if value is not None and value.isdecimal() else None


def numbering_of(node: Element) -> tuple[str, int] | None:
    """numId and 0-based level that a paragraph or style declares; numId "0" means none."""
    properties = node.find(f"{W}pPr/{W}numPr")
    if properties is None:
        return None
    number, level = properties.find(W + "numId"), properties.find(W + "ilvl")
    depth = level.get(W + "val") if level is not None else "0"
    return (
        (number.get(W + "val") or "0") if number is not None else "",
        int(depth) if depth and depth.isdecimal() else 0,
    )
