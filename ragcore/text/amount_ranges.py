"""Amounts in questions and the ranges that texts give: is 90 m within "80–120 m", L5 within "L4 and above"?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from ragcore.text.normalise import nfkc
from ragcore.text.word_lists import longest_first, read_lines, read_sections

SCALES = {
    "百": 1e2,
    "千": 1e3,
    "万": 1e4,
    "萬": 1e4,
    "亿": 1e8,
    "億": 1e8,
    "k": 1e3,
    "thousand": 1e3,
    "m": 1e6,
    "million": 1e6,
}
LEVEL = "level"  # unit of a level without a letter; that of L5 is "level l"
TIME = "s"  # unit of all times
MONEY = frozenset("元€$£")  # units of money
LARGEST_STEP = 61.0  # between the units of two times that are compared
FIRST_YEAR = 1900  # from which on 年 names a year
_TAIL = 28  # characters beside an amount that may say on which side of it a range lies
_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_PLACES = {"十": 10, "百": 100, "千": 1000}
_WORDS = {
    word: float(value)
    for words in (
        "one two three four five six seven eight nine ten eleven twelve",
        "first second third fourth fifth sixth seventh eighth ninth tenth",
    )
    for value, word in enumerate(words.split(), start=1)
} | {"fifteen": 15.0, "twenty": 20.0, "thirty": 30.0, "half a": 0.5, "half": 0.5, "a dozen": 12.0}
_CHINESE = "零〇一二两兩三四五六七八九十百半"
_JOINS = re.compile(
    r"(?:\s?[(（]不?含[)）])?(?:以上|起)?\s?(?:[-–—~～至到]|\b(?:up )?to\b|\band\b|不满|未满|不足)\s?", re.IGNORECASE
)  # between the ends: "5,000 元以上至 5 万元", 满3年不满6年
_LEVELS_JOIN = re.compile(r"\s?(?:[,，、/]|和|及|与|\bor\b)\s?", re.IGNORECASE)  # "L4, L5"
_SHORT_OF = ("不满", "未满", "不足")
_COUNTING = frozenset("满滿第足过過")  # in front of 一 that counts: 满一年, not 一个客户
_FILLERS = ("the", "第", "about", "约")  # between a word that bounds and its amount
_INNER = frozenset("部容存网置侧")  # 内部, 内容 ... say nothing of an amount
_OPENING = re.compile(r"\s?[(（]含[)）]")


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of something. `unit`: "" where none is named."""

    value: float  # in the unit
    unit: str = ""
    size: float = field(default=1.0, compare=False)  # of the unit that it is told in: 60 of a minute, in seconds

    def is_like(self, other: Amount | AmountRange) -> bool:
        """Whether both may be compared: in one unit, levels of one letter, or where one of them names no unit.

        Times are compared where their units are neighbours: years and months, not years and days.
        """
        units = {self.unit, other.unit}
        if units == {TIME}:
            return max(self.size, other.size) <= LARGEST_STEP * min(self.size, other.size)
        if any(name.startswith(f"{LEVEL} ") for name in units):  # C1 may be a name
            return len(units) == 1 or (LEVEL in units and all(name.startswith(LEVEL) for name in units))
        return "" in units or len(units) == 1


@dataclass(frozen=True, slots=True)
class AmountRange:
    """From `low` to `high`, both within unless the range leaves its ends out."""

    low: float
    high: float
    unit: str = ""
    size: float = field(default=1.0, compare=False)  # see Amount
    is_open: bool = False  # its ends lie outside: "under 3 years"

    @property
    def has_low(self) -> bool:
        """Whether it begins somewhere."""
        return self.low > -math.inf

    @property
    def is_bounded(self) -> bool:
        """Whether it has both ends."""
        return self.has_low and self.high < math.inf

    def distance(self, amount: Amount) -> float:
        """How far an amount within a range of one end lies from that."""
        return abs(amount.value - (self.low if self.has_low else self.high))

    def holds(self, amount: Amount) -> bool:
        """Whether the amount lies within, as far as both are of one unit; where one has none, they are."""
        if not amount.is_like(self):
            return False
        value = amount.value
        if not amount.unit or not self.unit:  # of the unit that the other one names
            value *= self.size / amount.size
        return self.low < value < self.high if self.is_open else self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class AmountPlace:
    """An amount and where it stands in a text."""

    amount: Amount
    start: int
    end: int
    number: float  # without its scale and unit
    is_named: bool = True  # with a unit, a scale or a currency
    is_level: bool = False

    @property
    def is_lettered(self) -> bool:
        return self.amount.unit.startswith(f"{LEVEL} ")


def amounts_in(text: str) -> list[Amount]:
    """Numbers with a unit or a scale: "90 m", "12万", "EUR 5,000", "level 4"; a plain number may be a name."""
    return [place.amount for place in _places(nfkc(text)) if place.is_named and not place.is_lettered]


def levels_in(text: str) -> list[Amount]:
    """Letters with a number, which may be levels or names: "L5"."""
    return [place.amount for place in _places(nfkc(text)) if place.is_lettered]


def amount_places(text: str) -> Sequence[AmountPlace]:
    """All numbers of a text with their places; none where its form of compatibility has other places."""
    plain = nfkc(text)
    return _places(plain) if len(plain) == len(text) else []


def plain_numbers_in(text: str) -> list[Amount]:
    """Numbers without a unit, which may be names: "and 8000?"."""
    return [place.amount for place in _places(nfkc(text)) if not place.is_named]


def without_amounts(text: str) -> str:
    """A text in compatibility form without its amounts."""
    plain, at, parts = nfkc(text), 0, []
    for place in _places(plain):
        if place.is_named and not place.is_lettered:
            parts.append(plain[at : place.start])
            at = place.end
    return " ".join((*parts, plain[at:]))


def ranges_in(text: str) -> Iterator[AmountRange]:
    """Of a cell or a sentence, in their order."""
    plain = nfkc(text)
    places = _places(plain)
    at = 0
    while at < len(places):
        here = places[at]
        behind = places[at + 1] if at + 1 < len(places) else None
        if behind is not None and _is_joined(plain, here, behind):
            low, high = _like(here, behind), behind.amount
            if low < high.value:
                is_short = any(word in plain[here.end : behind.start] for word in _SHORT_OF)
                end = math.nextafter(high.value, -math.inf) if is_short else high.value
                yield AmountRange(low, end, high.unit or here.amount.unit, max(high.size, here.amount.size))
            at += 2
            continue
        if (amounts := _one_sided(plain, here)) is not None:
            yield amounts
        at += 1


def level_in(text: str) -> AmountRange | None:
    """The only level that a cell names: "L4"; None for anything else."""
    plain = nfkc(text).strip()
    places = _places(plain)
    if len(places) != 1 or not places[0].is_level or (places[0].start, places[0].end) != (0, len(plain)):
        return None
    amount = places[0].amount
    return AmountRange(amount.value, amount.value, amount.unit)


def covers(cell: str, amount: Amount) -> bool:
    """Whether a cell gives a range of such amounts, and the amount lies within all of them: "over 5 and up to 20"."""
    ranges = [amounts for amounts in ranges_in(cell) if amount.is_like(amounts)]
    return bool(ranges) and all(amounts.holds(amount) for amounts in ranges)


def _is_joined(plain: str, here: AmountPlace, behind: AmountPlace) -> bool:
    between = plain[here.end : behind.start]
    if here.is_level or behind.is_level:
        is_next = behind.amount.value == here.amount.value + 1 and _LEVELS_JOIN.fullmatch(between) is not None
        return here.amount.unit == behind.amount.unit and (is_next or _JOINS.fullmatch(between) is not None)
    return _JOINS.fullmatch(between) is not None


def _one_sided(plain: str, place: AmountPlace) -> AmountRange | None:
    """The range of which an amount is the only end; None without words that say so."""
    amount = place.amount
    before, behind = plain[max(place.start - _TAIL, 0) : place.start], plain[place.end : place.end + _TAIL]
    side = _side_behind(behind) or _side_before(before)
    if side in ("below", "up to"):
        return AmountRange(-math.inf, amount.value, amount.unit, amount.size, is_open=side == "below")
    if side in ("over", "from"):
        return AmountRange(amount.value, math.inf, amount.unit, amount.size, is_open=side == "over")
    return None


def _side_before(text: str) -> str:
    """On which side of an amount a range lies by the words in front of it; "" where none say so."""
    text = text.rstrip().lower()
    for filler in _FILLERS:
        text = text.removesuffix(filler).rstrip()
    for word, side in _bounds("before"):
        if text.endswith(word) and (
            not word[0].isalpha() or not word.isascii() or not text[: -len(word)][-1:].isalpha()
        ):
            return side
    return ""


def _side_behind(text: str) -> str:
    """On which side of an amount a range lies by the words behind it; "" where none say so."""
    text = _OPENING.sub("", text, count=1).lstrip().lower()
    if text[:1] in ("内", "內") and text[1:2] not in _INNER:
        return "up to"
    for word, side in _bounds("behind"):
        if text.startswith(word) and (
            not word[-1].isalpha() or not word.isascii() or not text[len(word) :][:1].isalpha()
        ):
            return side
    return ""


@cache
def _bounds(place: str) -> tuple[tuple[str, str], ...]:
    """The words of one place with their side, the longest one first."""
    sections = read_sections("ragcore.text", "amount_bounds.txt")
    pairs = [
        (nfkc(word), name.removeprefix(place).strip())
        for name, words in sections.items()
        if name.startswith(place)
        for word in words
    ]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


def _like(here: AmountPlace, behind: AmountPlace) -> float:
    """The lower end of a range in the scale and unit of the upper one where it names none itself: 1–5 万元."""
    if here.is_named or not here.number:
        return here.amount.value
    return here.number * (behind.amount.value / behind.number if behind.number else 1.0)


def _places(plain: str) -> Sequence[AmountPlace]:
    """The numbers of a text in compatibility form, in their order."""
    return [place for match in _pattern().finditer(plain) if (place := _place(match, plain)) is not None]


def _place(match: re.Match[str], plain: str) -> AmountPlace | None:
    """None for a number in words that counts nothing, and for a year."""
    if match["letter"] or match["level"]:
        unit = f"{LEVEL} {(match['letter'] or '').lower()}".strip()
        return AmountPlace(Amount(float(match["rank"] or match["level"]), unit), *match.span(), 0.0, is_level=True)
    number, scale, name = _number(match), (match["scale"] or "").lower(), match["unit"] or match["currency"] or ""
    base, size = _unit(name.strip())
    is_year = base == "s" and match["unit"] == "年" and number >= FIRST_YEAR
    if is_year or (not match["digits"] and not (name or scale)):
        return None
    start, end = match.span()
    is_article = number == 1 and not match["digits"] and plain[max(start - 1, 0) : start] not in _COUNTING
    if is_article and not _side_behind(plain[end : end + _TAIL]):
        return None
    unit = LEVEL if base == "级" else base
    amount = Amount(number * SCALES.get(scale, 1.0) * size, unit, size)
    return AmountPlace(amount, start, end, number, is_named=bool(name or scale), is_level=unit == LEVEL)


def _number(match: re.Match[str]) -> float:
    if match["digits"]:
        return float(re.sub(r"[,，]", "", match["digits"]))
    if match["word"]:
        return _WORDS[" ".join(match["word"].lower().split())]
    return chinese_number(match["han"])


def chinese_number(text: str) -> float:
    """The number that Chinese digits spell: 十二 is 12, 两百 is 200, 半 is a half."""
    if text == "半":
        return 0.5
    total, digit = 0, 0
    for character in text.replace("半", ""):
        if character in _PLACES:
            total += (digit or 1) * _PLACES[character]
            digit = 0
        else:
            digit = _DIGITS[character]
    return float(total + digit)


def _unit(name: str) -> tuple[str, float]:
    """What a unit is compared in, and how many of that it is."""
    if not name:
        return "", 1.0
    key = " ".join(name.split())
    return _units().get(key) or _units().get(key.lower()) or _units().get(key.upper()) or ("", 1.0)


@cache
def _units() -> dict[str, tuple[str, float]]:
    lines = (line.split("|") for line in read_lines("ragcore.text", "amount_units.txt"))
    units: dict[str, tuple[str, float]] = {}
    for base, size, names in lines:
        for name in map(str.strip, names.split(",")):
            units[nfkc(name)] = units[nfkc(name).lower()] = (base.strip(), float(size))
    return units


@cache
def _pattern() -> re.Pattern[str]:
    names = longest_first(_units())
    letters = "".join(name for name in names if len(name) == 1 and name.isascii() and name.isalpha())
    latin = "|".join(re.escape(name) for name in names if len(name) > 1 and name[0].isascii() and name[0].isalpha())
    chinese = "|".join(re.escape(name) for name in names if not (name[0].isascii() and name[0].isalpha()))
    words = "|".join(longest_first(_WORDS))
    return re.compile(
        r"(?<![A-Za-z\d._])(?<![A-Za-z][-/])(?P<letter>[A-Za-z])(?P<rank>\d{1,2})"
        r"(?![A-Za-z\d_]|[.:](?=\w)|[-/](?![A-Za-z]\d))"  # L5, not R5-EU
        r"|(?:(?<![A-Za-z])(?i:level|grade|band|tier)\s|职级\s?|级别\s?|等级\s?)(?P<level>\d{1,2})(?![\d.])"
        r"|(?:(?P<currency>(?<![A-Za-z])(?i:EUR|USD|RMB|CNY|GBP)\s?|[€$¥£]\s?)|(?<![A-Za-z\d./:_])(?<![A-Za-z]-))"
        r"(?:(?P<digits>\d+(?:[,，]\d{3})*(?:\.\d+)?)(?:(?:st|nd|rd|th)(?![a-z]))?(?![\d:])"
        rf"|(?P<word>(?i:{words}))(?=[\s-])|(?P<han>[{_CHINESE}]{{1,4}}))"
        r"\s?(?P<scale>(?i:million|thousand|k)(?![A-Za-z])|M(?![A-Za-z])|[百千万萬亿億])?"
        rf"(?:\s|-(?=[A-Za-z]))?(?P<unit>(?:(?i:{latin})|[{letters}])(?![A-Za-z])|{chinese})?"
    )
