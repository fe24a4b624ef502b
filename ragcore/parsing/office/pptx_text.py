"""Text of PowerPoint shapes: paragraphs, bullets and numbers with their depth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragcore.parsing.office.xml import Element, whole
from ragcore.types import Block

A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
MAX_DEPTH = 8


def text_blocks(body: Element, *, page: int, bulleted: bool) -> Iterator[Block]:
    """Paragraphs and lists of a text body. `bulleted`: whether paragraphs are bullets unless they say otherwise."""
    items: list[str] = []
    numbers: dict[int, int] = {}
    for paragraph in body.findall(A + "p"):
        text = paragraph_text(paragraph)
        if not text:
            continue
        depth = _depth(paragraph)
        mark = _mark(paragraph, depth, numbers, bulleted)
        if mark:
            items.append(f"{'  ' * depth}{mark} {' '.join(text.split())}")
            continue
        yield from _list(items, page)
        numbers.clear()
        yield Block(kind="paragraph", text=text, page=page)
    yield from _list(items, page)


def _list(items: list[str], page: int) -> Iterator[Block]:
    """What has gathered; one bullet alone is a paragraph."""
    if len(items) == 1:
        yield Block(kind="paragraph", text=items[0].lstrip().removeprefix("- "), page=page)
    elif items:
        yield Block(kind="list", text="\n".join(items), page=page)
    items.clear()


def paragraph_text(paragraph: Element) -> str:
    """Runs, fields and formulas of a paragraph; line breaks are kept."""
    return "".join(_pieces(paragraph)).strip()


def _pieces(paragraph: Element) -> Iterator[str]:
    for node in paragraph.iter(A + "t", A + "br", A + "tab", _MATH + "t"):
        if node.tag == A + "br":
            yield "\n"
        elif node.tag == A + "tab":
            yield "\t" if next(node.iterancestors(A + "tabLst"), None) is None else ""
        elif _is_shown(node):
            yield (node.text or "").replace("\v", "\n")


def _is_shown(node: Element) -> bool:
    """False for the copy of a formula that older programs show, and for slide numbers."""
    fallback = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
    field = next(node.iterancestors(A + "fld"), None)
    if field is not None and (field.get("type") or "").lower() == "slidenum":
        return False
    return next(node.iterancestors(fallback), None) is None


def _depth(paragraph: Element) -> int:
    properties = paragraph.find(A + "pPr")
    return whole(properties.get("lvl"), 0, high=MAX_DEPTH) if properties is not None else 0


def _mark(paragraph: Element, depth: int, numbers: dict[int, int], bulleted: bool) -> str:
    """ "-", "3." or "" for a paragraph without a mark; numbers start again below another parent."""
    properties: Any = paragraph.find(A + "pPr")
    for deeper in [other for other in numbers if other > depth]:
        del numbers[deeper]
    if properties is not None:
        if properties.find(A + "buNone") is not None:
            return ""
        if (automatic := properties.find(A + "buAutoNum")) is not None:
            numbers[depth] = numbers.get(depth, whole(automatic.get("startAt"), 1) - 1) + 1
            return f"{numbers[depth]}."
        if properties.find(A + "buChar") is not None or properties.find(A + "buBlip") is not None:
            return "-"
    return "-" if bulleted or depth else ""
