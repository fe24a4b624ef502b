"""Properties that tables measure, by their names in both languages, and which side of them is good.

可用率 and "availability" are one property, of which a high number is good; of a drop rate a low one is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ragcore.extractive.lookup_table import LookupTable
from ragcore.extractive.row_question import RowQuestion
from ragcore.text.word_lists import read_lines

Side = Literal["high", "low", ""]
LEAST_NAME = 0.5  # share of the words of a column's name that name it in a question
_UNIT = re.compile(r"[(（\[][^()（）\[\]]*[)）\]]")


@dataclass(frozen=True, slots=True)
class Property:
    """What a column measures; one line of property_names.txt."""

    names: re.Pattern[str]
    good: Side  # "": neither side is

    def is_in(self, text: str) -> bool:
        """Whether a text in lower case names it."""
        return self.names.search(text) is not None


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column that a question names."""

    column: int
    words: str  # of the question
    good: Side
    fit: tuple[int, float]  # to be compared: letters of the property's name, share of the column's own words


def properties_in(text: str) -> list[Property]:
    """The properties that a text in lower case names: of two names that overlap the longer one, "packet loss"."""
    matches = [(match, entry) for entry in _properties() for match in entry.names.finditer(text)]
    return [
        entry
        for match, entry in matches
        if not any(
            other.start() <= match.start() and match.end() <= other.end() and len(other[0]) > len(match[0])
            for other, _entry in matches
        )
    ]


def column_name(head: str) -> str:
    """The name of a column without its unit. `head`: in lower case."""
    return _UNIT.sub(" ", head).strip()


def named_column(question: RowQuestion, table: LookupTable, at: int, text: str) -> NamedColumn | None:
    """How a question names a column: by the property in either language, or by the words of its head; None if not.

    `text`: the question, or the part of it that tells the property.
    """
    name = column_name(table.heads[at])
    for entry in properties_in(name):
        if match := entry.names.search(text):
            return NamedColumn(at, match[0], entry.good, (len(match[0]), 1.0))
    words = [w for w in table.head_words[at] if w in name]
    if name and name in text:
        return NamedColumn(at, name, _good_of(name), (len(name), 1.0))
    common = [word for word in words if question.has(word)]
    if not common or len(common) <= LEAST_NAME * len(words) and len(words) > 1:
        return None
    return NamedColumn(at, " ".join(common), _good_of(name), (0, len(common) / len(words)))


def _good_of(name: str) -> Side:
    return next((entry.good for entry in properties_in(name)), "")


@cache
def _properties() -> tuple[Property, ...]:
    lines = (line.split("|") for line in read_lines("ragcore.extractive", "property_names.txt"))
    return tuple(Property(_names(names), _side(side.strip())) for side, names in lines)


def _side(name: str) -> Side:
    return "high" if name == "high" else "low" if name == "low" else ""


def _names(names: str) -> re.Pattern[str]:
    """Finds names between commas, the longest one first: English ones where a word begins so."""
    listed = sorted((name.strip() for name in names.split(",")), key=len, reverse=True)
    return re.compile("|".join(rf"\b{re.escape(n)}\w*" if n.isascii() else re.escape(n) for n in listed))
