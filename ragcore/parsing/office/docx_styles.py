"""Word styles and numbering: which paragraphs are headings, and the automatic numbers of lists.

Automatic numbers ("第三条", "2.1", bullets) are not in the text of the file, but users quote them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from ragcore.parsing.office.docx_text import Element, W

_HEADING = re.compile(r"(?:heading|标题|標題|überschrift|titre|título)\s*([1-9])(?!\d)", re.IGNORECASE)
_TITLE = re.compile(r"(?:title|标题|標題|文档标题)", re.IGNORECASE)
_CONTENTS = re.compile(r"(?:toc|目录|目錄|table of figures|图表目录)\s*\d*(?:\s*heading)?|toc heading", re.IGNORECASE)
MAX_CHAIN = 20  # styles based on each other in a circle exist

Role = Literal["heading", "title", "contents", "body"]
_DIGITS = "〇一二三四五六七八九"
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"))
_ROMAN_ONES = ((9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_CHINESE = frozenset(
    {"chineseCounting", "chineseCountingThousand", "ideographDigital", "japaneseCounting", "taiwaneseCounting"}
)


@dataclass(frozen=True, slots=True)
class Style:
    """What matters of a paragraph style, inheritance resolved."""

    role: Role = "body"
    level: int = 0  # headings: 1 to 6
    numbering: tuple[str, int] | None = None  # numId and level of the list that the style belongs to
    name: str = ""  # as people see it; empty for the default style


BODY = Style()


def read_styles(root: Element) -> dict[str, Style]:
    """Paragraph styles by id; the default style also under ""."""
    declared = {node.get(W + "styleId"): node for node in root.findall(W + "style")}
    styles = {key: _resolved(list(_chain(key, declared))) for key in declared if key}
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
        return Style("heading", min(level + 1, 6), style.numbering)
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


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a list definition."""

    format: str = "decimal"
    text: str = "%1."  # %n stands for the number of level n
    start: int = 1


@dataclass(slots=True)
class Numbering:
    """Definitions by numId, and the counters, which advance as paragraphs are read in order."""

    levels: dict[str, dict[int, Level]] = field(default_factory=dict)
    lists: dict[str, str] = field(default_factory=dict)  # numId -> abstract definition: its counters are shared
    counters: dict[str, dict[int, int]] = field(default_factory=dict)

    def label(self, number: str, depth: int) -> str | None:
        """The label of the next paragraph at a level: "-" for bullets, None if there is no such list."""
        levels = self.levels.get(number)
        if levels is None or depth not in levels:
            return None
        level = levels[depth]
        counts = self.counters.setdefault(self.lists[number], {})
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for deeper in [other for other in counts if other > depth]:
            del counts[deeper]
        if level.format == "bullet":
            return "-"
        if level.format == "none":
            return ""
        return re.sub(r"%([1-9])", lambda m: _number(int(m[1]) - 1, levels, counts), level.text).strip()


def _number(depth: int, levels: dict[int, Level], counts: dict[int, int]) -> str:
    level = levels.get(depth, Level())
    return number_text(counts.get(depth, level.start), level.format)


def number_text(value: int, number_format: str) -> str:
    """A number as Word writes it in a format; formats that are not known count in digits."""
    if number_format in _CHINESE:
        return chinese_number(value)
    if number_format in ("lowerLetter", "upperLetter"):
        letters = chr(ord("a") + (value - 1) % 26) * ((value - 1) // 26 + 1)
        return letters.upper() if number_format == "upperLetter" else letters
    if number_format in ("lowerRoman", "upperRoman"):
        return _roman(value).upper() if number_format == "upperRoman" else _roman(value)
    return f"{value:02d}" if number_format == "decimalZero" else str(value)


def chinese_number(value: int) -> str:
    """1 to 9999 in Chinese characters; other numbers in digits."""
    if not 0 < value < 10_000:
        return str(value)
    text = ""
    for place, unit in ((1000, "千"), (100, "百"), (10, "十"), (1, "")):
        digit = value // place % 10
        if digit:
            text += _DIGITS[digit] + unit
        elif text and not text.endswith("零"):
            text += "零"
    return text.rstrip("零").removeprefix("一") if 10 <= value < 20 else text.rstrip("零")


def _roman(value: int) -> str:
    text = ""
    for worth, letters in (*_ROMAN, *_ROMAN_ONES):
        count, value = divmod(value, worth)
        text += letters * count
    return text


def read_numbering(root: Element | None) -> Numbering:
    """List definitions of a document; an empty one if it has none."""
    numbering = Numbering()
    if root is None:
        return numbering
    abstract = {node.get(W + "abstractNumId"): _levels(node) for node in root.findall(W + "abstractNum")}
    for node in root.findall(W + "num"):
        key, base = node.get(W + "numId"), node.find(W + "abstractNumId")
        name = base.get(W + "val") if base is not None else None
        if key and name in abstract:
            overrides = node.findall(W + "lvlOverride")
            numbering.levels[key] = {**abstract[name], **_overridden(overrides, abstract[name])}
            numbering.lists[key] = f"{name}/{key}" if overrides else str(name)
    return numbering


def _levels(node: Element) -> dict[int, Level]:
    return {_integer(level, "ilvl"): _level(level) for level in node.findall(W + "lvl")}


def _level(node: Element) -> Level:
    def value(name: str, default: str) -> str:
        child = node.find(W + name)
        return (child.get(W + "val") or "") if child is not None else default

    start = value("start", "1")
    return Level(value("numFmt", "decimal"), value("lvlText", ""), int(start) if start.isdecimal() else 1)


def _overridden(overrides: list[Element], base: dict[int, Level]) -> dict[int, Level]:
    levels: dict[int, Level] = {}
    for node in overrides:
        depth = _integer(node, "ilvl")
        inner, start = node.find(W + "lvl"), node.find(W + "startOverride")
        level = _level(inner) if inner is not None else base.get(depth, Level())
        if start is not None:
            level = Level(level.format, level.text, _integer(start, "val"))
        levels[depth] = level
    return levels


def _integer(node: Element, name: str) -> int:
    value = node.get(W + name) or "0"
    return int(value) if value.isdecimal() else 0
