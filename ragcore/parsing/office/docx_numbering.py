"""Automatic numbers of Word ("第三条", "2.1", bullets), which stand nowhere in the text but are quoted in questions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ragcore.parsing.office.docx_text import Element, W

_DIGITS = "〇一二三四五六七八九"
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"))
_ROMAN_ONES = ((9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_CHINESE = frozenset(
    {"chineseCounting", "chineseCountingThousand", "ideographDigital", "japaneseCounting", "taiwaneseCounting"}
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
        found = node.find(W + name)
        return (found.get(W + "val") or "") if found is not None else default

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
