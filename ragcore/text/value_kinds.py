"""Values of a kind that a question asks for and a text must hold: money, weight, a colour, a telephone number.

A text on the subject without any such value cannot answer, however near it is. The kinds stand in value_kinds.txt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from ragcore.text.normalise import nfkc
from ragcore.text.word_lists import longest_first, read_section_lines
from ragcore.types import Language

WORDS = ("asks", "tells", "units", "beside", "only")
PATTERNS = ("asks pattern", "pattern")
BETWEEN = 60  # characters that "…" in an entry stands for, at most
SIGN = 3  # characters of a unit whose case tells it apart: g and G
NEAR = 40  # characters between a word and the figure beside it
# a number that may be money: what "costs 3 dB", or two hours, has no price
_AMOUNT = (
    r"(?>\d(?:[\d.,]*\d)?)(?!\s?(?:dB|%|ms\b|[kMG]?bit|bytes?\b|seconds?\b|minutes?\b|hours?\b|days?\b|points?\b))"
)
_IN_FRONT = frozenset("€$£¥￥")  # signs that stand in front of a figure
_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueKind:
    """A kind of values: how it is asked for, and how a text shows that it holds one."""

    names: tuple[str, str]  # in English and in Chinese
    asks: re.Pattern[str]  # in a question
    words: re.Pattern[str]  # in a question: the words for it, without what stands between them
    tells: re.Pattern[str]  # in a text: a word for it, or a figure in one of its units
    is_of_rows: bool = False  # missed only where nothing but rows of tables speaks of the thing

    def name_in(self, language: Language) -> str:
        """What the value is called: in Chinese, or in English for any other language."""
        english, chinese = self.names
        return chinese if language == "zh" else english

    def without(self, question: str) -> str:
        """The question without the words that ask for the value: what it is about."""
        return self.words.sub(" ", nfkc(question))

    def is_told(self, text: str) -> bool:
        """Whether a text holds a value of this kind, or speaks of it."""
        return self.tells.search(nfkc(text)) is not None


def asked_kinds(question: str) -> list[ValueKind]:
    """The kinds of values that a question asks for, in the order of the file."""
    plain = nfkc(question)
    return [kind for kind in value_kinds() if kind.asks.search(plain)]


@cache
def value_kinds() -> tuple[ValueKind, ...]:
    """All kinds. Raises ValueError for a line of the file that is no part of a kind."""
    return tuple(_kind(name, lines) for name, lines in read_section_lines("ragcore.text", "value_kinds.txt").items())


def _kind(name: str, lines: Iterable[str]) -> ValueKind:
    parts: dict[str, list[str]] = {part: [] for part in (*WORDS, *PATTERNS)}
    for line in lines:
        part, _colon, entries = line.partition(":")
        if part not in parts:
            raise ValueError(f"value_kinds.txt: {name} has an unknown part {part!r}")
        raws = [entries] if part in PATTERNS else entries.split(",")
        parts[part] += [entry for raw in raws if (entry := raw.strip())]
    beside = [_worded(word) for word in parts["beside"]]
    tells = [_worded(word) for word in longest_first(parts["tells"])]
    tells += [*parts["pattern"], *(_figure_in(unit) for unit in longest_first(parts["units"]))]
    tells += [rf"{word}\w*[^.\n|\d]{{0,{NEAR}}}{_AMOUNT}|{_AMOUNT}[^.\n|\d]{{0,{NEAR}}}{word}" for word in beside]
    tells += [rf"\|\s?{word}\w*\s?\|" for word in beside]  # the name of a column
    asks = [*map(_worded, longest_first(parts["asks"])), *parts["asks pattern"]]
    pieces = {piece.strip() for entry in parts["asks"] for piece in entry.split("…")} | {*parts["tells"]}
    words = [rf"{_worded(piece)}\w*" for piece in longest_first(pieces) if len(piece) > 1]
    english, chinese = map(str.strip, name.split("|"))
    return ValueKind(
        names=(english, chinese),
        asks=_any(asks),
        words=_any(words),
        tells=_any(tells),
        is_of_rows="rows" in parts["only"],
    )


def _any(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns) or _NEVER.pattern, re.IGNORECASE)


def _worded(entry: str) -> str:
    """The pattern of an entry: a Latin one begins a word, and with a full stop also ends it."""
    is_whole, entry = entry.endswith("."), entry.removesuffix(".")
    pieces = [re.escape(piece.strip()) for piece in entry.split("…")]
    pattern = rf"\b[^.?!]{{1,{BETWEEN}}}?\b".join(pieces)
    begins = r"\b" if entry[:1].isascii() and entry[:1].isalnum() else ""
    return f"{begins}{pattern}" + (r"\b" if is_whole else "")


def _figure_in(unit: str) -> str:
    """A figure in front of a unit; behind a sign of money."""
    if unit in _IN_FRONT:
        return rf"{re.escape(unit)}\s?\d|\d\s?{re.escape(unit)}"
    is_whole, unit = unit.endswith("."), unit.removesuffix(".")
    spelling = re.escape(unit) if len(unit) > SIGN else rf"(?-i:{re.escape(unit)})"
    return rf"[\d一二三四五六七八九十百千万亿兩两半][\s-]?(?:thousand |million |billion |[万亿萬億])?{spelling}" + (
        r"(?![A-Za-z])" if is_whole else ""
    )
