"""Automatic numbers of Word lists as Word shows them.

Automatic numbers ("第三条", "2.1", bullets) are not in the text of the file, but users quote them. Formats, levels and
restarts are those of ECMA-376 part 1, 17.9.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from ragcore.parsing.number_words import number_text
from ragcore.parsing.office.docx_text import W
from ragcore.parsing.office.xml import Element, is_on


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
    is_legal: bool = False  # the numbers of all levels in digits
    restarts_below: int | None = None  # a number of a level above it (its depth below this) begins it anew; None: any
    style: str = ""  # the paragraph style that stands on this level
    gap: str = " "  # between the number and the text


@dataclass(slots=True)
class Numbering:
    """Definitions by numId, and the counters, which advance as paragraphs are read in order."""

    levels: dict[str, dict[int, Level]] = field(default_factory=dict)
    lists: dict[str, str] = field(default_factory=dict)  # numId -> abstract definition: its counters are shared
    counters: dict[str, dict[int, int]] = field(default_factory=dict)

    def label(self, number: str, depth: int) -> str | None:
        """The label of the next paragraph at a level with the gap behind it: "- " for bullets, None: no such list."""
        levels = self.levels.get(number)
        if levels is None or depth not in levels:
            return None
        level = levels[depth]
        counts = self.counters.setdefault(self.lists[number], {})
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for deeper in [count for count in counts if count > depth]:
            restarts_below = levels[deeper].restarts_below if deeper in levels else None
            if restarts_below is None or depth < restarts_below:
                del counts[deeper]
        if level.format == "bullet":
            return "- "
        if level.format == "none":
            return ""
        label = re.sub(r"%([1-9])", lambda m: _number(int(m[1]) - 1, level, levels, counts), level.text).strip()
        return f"{label}{level.gap}" if label else ""

    def depth_of(self, number: str, style: str, depth: int) -> int:
        """The level of a list that names a paragraph style; `depth` where none does."""
        levels = self.levels.get(number, {}) if style else {}
        return next((at for at, level in levels.items() if level.style == style), depth)


def _number(depth: int, labelled_level: Level, levels: dict[int, Level], counts: dict[int, int]) -> str:
    level = levels.get(depth, Level())
    return number_text(counts.get(depth, level.start), "decimal" if labelled_level.is_legal else level.format)


def read_numbering(root: Element | None, styles: Element | None = None) -> Numbering:
    """List definitions of a document; an empty one if it has none. `styles`: list styles may stand for definitions."""
    numbering = Numbering()
    if root is None:
        return numbering
    nodes = {node.get(W + "abstractNumId"): node for node in root.findall(W + "abstractNum")}
    abstract = {key: _levels(node) for key, node in nodes.items()}
    by_style = {style: key for key, node in nodes.items() if (style := _text(node, "styleLink"))}
    numbers = {node.get(W + "numId"): _text(node, "abstractNumId") for node in root.findall(W + "num")}
    for key, node in nodes.items():
        if (style := _text(node, "numStyleLink")) and not abstract[key]:
            linked = by_style.get(style) or numbers.get(_number_of_style(style, styles))
            abstract[key] = abstract.get(linked, {})
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

    start, restart = value("start", "1"), value("lvlRestart", "")
    return Level(
        _format(node),
        value("lvlText", ""),
        int(start) if start.isdecimal() else 1,
        is_legal=node.find(W + "isLgl") is not None and is_on(value("isLgl", "1")),
        restarts_below=int(restart) if restart.isdecimal() else None,
        style=value("pStyle", ""),
        gap="" if value("suff", "tab") == "nothing" else " ",
    )


def _format(node: Element) -> str:
    """The number format of a level; newer programs offer a custom one beside that for older programs."""
    formats = list(node.iter(W + "numFmt"))
    custom = (form.get(W + "format") or "" for form in formats if form.get(W + "val") == "custom")
    plain = (form.get(W + "val") or "" for form in formats if form.get(W + "val") != "custom")
    return next((form for form in custom if form), "") or next(plain, "decimal")


def _text(node: Element, name: str) -> str:
    child = node.find(W + name)
    return (child.get(W + "val") or "") if child is not None else ""


def _number_of_style(style: str, styles: Element | None) -> str:
    """The list that a list style stands for; "" where there is none."""
    declared = styles.findall(W + "style") if styles is not None else ()
    node = next((node for node in declared if node.get(W + "styleId") == style), None)
    return (numbering_of(node) or ("", 0))[0] if node is not None else ""


def _overridden(overrides: list[Element], base: dict[int, Level]) -> dict[int, Level]:
    levels: dict[int, Level] = {}
    for node in overrides:
        depth = _integer(node, "ilvl")
        inner, start = node.find(W + "lvl"), node.find(W + "startOverride")
        level = _level(inner) if inner is not None else base.get(depth, Level())
        if start is not None:
            level = replace(level, start=_integer(start, "val"))
        levels[depth] = level
    return levels


def _integer(node: Element, name: str) -> int:
    value = node.get(W + name) or "0"
    return int(value) if value.isdecimal() else 0
