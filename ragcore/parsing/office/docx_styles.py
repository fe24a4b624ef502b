"""Word styles: which paragraphs are headings, and to which lists styles belong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ragcore.parsing.office.docx_numbering import numbering_of
from ragcore.parsing.office.docx_text import W
from ragcore.parsing.office.xml import Element

_HEADING = re.compile(r"(?:heading|标题|標題|überschrift|titre|título)\s*([1-9])(?!\d)", re.IGNORECASE)
_TITLE = re.compile(r"(?:title|标题|標題|文档标题)", re.IGNORECASE)
_CONTENTS = re.compile(r"(?:toc|目录|目錄|table of figures|图表目录)\s*\d*(?:\s*heading)?|toc heading", re.IGNORECASE)
_CODE = re.compile(
    r"(?:source|program|example)?[ _-]*(?:code|listing)(?:[ _-]*(?:block|text|listing|example))?|html preformatted"
    r"|preformatted(?: text)?|verbatim|(?:程序|源|示例)?代码(?:块|样式)?|(?:程式|原始)碼",
    re.IGNORECASE,
)
MAX_CHAIN = 20  # styles based on each other in a circle exist

Role = Literal["heading", "title", "contents", "body"]


@dataclass(frozen=True, slots=True)
class Style:
    """What matters of a paragraph style, inheritance resolved."""

    role: Role = "body"
    level: int = 0  # headings: 1 to 6
    numbering: tuple[str, int] | None = None  # numId and level of the list that the style belongs to
    name: str = ""  # as people see it; empty for the default style
    key: str = ""  # the id by which lists name it

    @property
    def is_code(self) -> bool:
        """Whether its paragraphs are lines of code."""
        return self.role == "body" and _CODE.fullmatch(self.name) is not None


BODY = Style()


def read_styles(root: Element | None) -> dict[str, Style]:
    """Paragraph styles by id; the default style also under "". Without the part of styles there are none."""
    if root is None:
        return {}
    declared = {node.get(W + "styleId"): node for node in root.findall(W + "style")}
    styles = {key: replace(_resolved(list(_chain(key, declared))), key=key) for key in declared if key}
    for key, node in declared.items():
        if node.get(W + "default") in ("1", "true") and node.get(W + "type") == "paragraph":
            styles[""] = styles[key] = replace(styles[key], name="")
    return styles


def paragraph_style(paragraph: Element, styles: dict[str, Style]) -> Style:
    """The style of a paragraph; its own outline level wins."""
    style_node = paragraph.find(f"{W}pPr/{W}pStyle")
    style = styles.get((style_node.get(W + "val") or "") if style_node is not None else "", BODY)
    level = _outline_level(paragraph)
    if level is not None and style.role == "body" and level < 9:
        return Style("heading", min(level + 1, 6), style.numbering, key=style.key)
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
    style_name = names[0] if names else ""
    numbering = next((numbering_here for node in chain if (numbering_here := numbering_of(node)) is not None), None)
    if any(_CONTENTS.fullmatch(name) for name in names):
        return Style("contents")
    if names and _TITLE.fullmatch(names[0]):
        return Style("title", 1)
    for node, name in zip(chain, names, strict=False):
        if heading := _HEADING.match(name):
            return Style("heading", min(int(heading[1]), 6), numbering)
        if (level := _outline_level(node)) is not None:
            return (
                Style("heading", min(level + 1, 6), numbering) if level < 9 else Style("body", 0, numbering, style_name)
            )
    return Style("body", 0, numbering, style_name)


def _outline_level(node: Element) -> int | None:
    child = node.find(f"{W}pPr/{W}outlineLvl")
    value = child.get(W + "val") if child is not None else None
    return int(value) if value is not None and value.isdecimal() else None
