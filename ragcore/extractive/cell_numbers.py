"""Numbers of cells and questions that can be compared: "1 week" and "7 天", "EUR 40", "2026-09-30"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ragcore.text.normalise import nfkc
from ragcore.text.word_lists import longest_first, read_lines

LEAST_VALUES = 2  # of a column of numbers
LEAST_SHARE = 0.5  # of its filled cells
DATE = "date"  # the kind of a day; its value is YYYYMMDD
_SCALES = {"百": 1e2, "千": 1e3, "万": 1e4, "萬": 1e4, "亿": 1e8, "億": 1e8, "k": 1e3, "million": 1e6}
_ENGLISH = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_CHINESE = "一二三四五六七八九十"
NUMBER_WORDS = {
    **{word: number for words in (_ENGLISH, _CHINESE) for number, word in enumerate(words, start=1)},
    **dict.fromkeys(("a", "an"), 1),
    **dict.fromkeys("两兩", 2),
}
_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)\s?[-/.年]\s?(\d{1,2})\s?(?:[-/.月]\s?(\d{1,2})|月)(?!\d)")
_MINUS = {0x2212: "-", 0x2013: "-"}  # as typesetters write it
_NO_DIGITS = re.compile(r"[,，\s]")
_HEAD_UNIT = re.compile(r"[(（\[]\s*([^()（）\[\]]+?)\s*[)）\]]\s*\Z|[\s/,，]([^\s/,，()（）]+)\Z")


@dataclass(frozen=True, slots=True)
class Measure:
    """A number with what it measures. `kind`: "time", "mass" ...; "" where no unit is named."""

    value: float  # in the smallest unit of the kind
    kind: str = ""

    def is_like(self, other: Measure) -> bool:
        """Whether both measure the same; a number without a unit may measure anything but a day."""
        return self.kind == other.kind or (DATE not in (self.kind, other.kind) and not (self.kind and other.kind))


@dataclass(frozen=True, slots=True)
class MeasureIn:
    """A measure and where it stands in a text."""

    measure: Measure
    start: int
    end: int


def measures_in(text: str) -> Iterator[MeasureIn]:
    """The numbers of a text with their units, in order; those of codes and of clock times are none."""
    plain = nfkc(text)
    for match in _DATE.finditer(plain):
        year, month, day = (int(part or 0) for part in match.groups())
        yield MeasureIn(Measure(year * 10000 + month * 100 + day, DATE), *match.span())
    without_dates = _DATE.sub(lambda match: "　" * len(match[0]), plain)
    for match in _measure_pattern().finditer(without_dates):
        number, unit = match["digits"] or match["word"], match["unit"] or match["currency"]
        if match["word"] and not match["unit"]:
            continue
        is_plain = match["digits"] is not None
        value = float(_NO_DIGITS.sub("", number.translate(_MINUS))) if is_plain else float(NUMBER_WORDS[number.lower()])
        kind, size = _unit(unit) if unit else ("", 1.0)
        yield MeasureIn(Measure(value * _SCALES.get((match["scale"] or "").lower(), 1.0) * size, kind), *match.span())


def column_measures(head: str, cells: Sequence[str]) -> list[Measure | None]:
    """What each cell of a column measures, None where it gives no number or several.

    A unit in the head counts for cells without one: "Lead time (weeks)". [] unless enough of the cells are numbers.
    """
    unit = _head_unit(head)
    measures = [_only_measure(cell, unit) for cell in cells]
    values = [measure for measure in measures if measure is not None]
    filled = sum(bool(cell) for cell in cells)
    kinds = {measure.kind for measure in values if measure.kind}
    if len(values) < LEAST_VALUES or len(values) < LEAST_SHARE * filled or len(kinds) > 1:
        return []
    return measures


def _only_measure(cell: str, unit: tuple[str, float] | None) -> Measure | None:
    measures = [place.measure for place in measures_in(cell)]
    if len(measures) != 1:
        return None
    if unit is not None and not measures[0].kind:
        return Measure(measures[0].value * unit[1], unit[0])
    return measures[0]


def _head_unit(head: str) -> tuple[str, float] | None:
    """The unit that stands in the head of a column behind its name."""
    match = _HEAD_UNIT.search(nfkc(head).strip())
    return _units().get((match[1] or match[2]).strip().lower()) if match else None


def _unit(name: str) -> tuple[str, float]:
    return _units()[" ".join(name.lower().split())]


@cache
def _units() -> dict[str, tuple[str, float]]:
    """Name in lower case -> kind and size."""
    lines = (line.split("|") for line in read_lines("ragcore.extractive", "units.txt"))
    return {
        nfkc(name).strip().lower(): (kind.strip(), float(size))
        for kind, size, names in lines
        for name in names.split(",")
    }


@cache
def _measure_pattern() -> re.Pattern[str]:
    names = longest_first(_unit_names())
    letters = "|".join(re.escape(name) for name in names if len(name) == 1 and name.isascii())
    words = "|".join(re.escape(name) for name in names if len(name) > 1 and name.isascii())
    names_elsewhere = "|".join(re.escape(name) for name in names if not name.isascii())
    return re.compile(
        r"(?:(?P<currency>(?i:EUR|USD|GBP|RMB|CNY)|[€$£¥])\s?)?"
        r"(?:(?<![A-Za-z\d._/:-])(?P<digits>[-−]?\d+(?:[,，]\d{3})*(?:\.\d+)?)(?![:./-]?\d)"
        rf"|(?P<word>(?i:\b(?:an?|{'|'.join(_ENGLISH)})\b)|(?<![第\d{_CHINESE}])[{_CHINESE}两兩]))"
        r"\s?(?P<scale>(?i:million\b|k\b)|[百千万萬亿億])?\s?[个個]?\s?"
        rf"(?P<unit>(?:(?i:{words})|{letters})(?![A-Za-z])|{names_elsewhere})?(?![A-Za-z])"
    )


def _unit_names() -> list[str]:
    lines = (line.split("|")[2] for line in read_lines("ragcore.extractive", "units.txt"))
    return [nfkc(name).strip() for line in lines for name in line.split(",")]
