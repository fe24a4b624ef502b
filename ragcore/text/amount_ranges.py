"""Amounts in questions and the ranges that cells of tables give: is 90 m within "80–120 m"?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ragcore.text.normalise import nfkc

SCALES = {"百": 1e2, "千": 1e3, "万": 1e4, "萬": 1e4, "亿": 1e8, "億": 1e8, "k": 1e3, "million": 1e6}
SAME_UNITS = {
    **dict.fromkeys(("块", "塊", "圆", "圓", "块钱", "元钱", "rmb", "yuan", "cny", "¥"), "元"),
    "公里": "km",
    "千米": "km",
    "米": "m",
    "厘米": "cm",
    "毫米": "mm",
    "公斤": "kg",
    "千克": "kg",
    "eur": "€",
    "usd": "$",
}
_AMOUNT = re.compile(
    r"(?P<currency>EUR|USD|RMB|CNY|[€$¥])?\s?(?<![\d:./])(?P<number>\d+(?:[,，]\d{3})*(?:\.\d+)?)(?![\d:])\s*"
    r"(?P<scale>million\b|k\b|[百千万萬亿億])?\s*"
    r"(?P<unit>块钱|元钱|公里|千米|厘米|毫米|公斤|千克|小时|分钟|个月|年|天|周|人|台|件|次|米|元|块|塊|圆|圓|岁|度|%|°C?"
    r"|(?:km/h|km|cm|mm|kg|GHz|MHz|kHz|ms|EUR|USD|RMB|CNY|m|g|s|h|V|A|W|kW)(?![A-Za-z])"
    r"|(?:metres?|meters?|yuan|days?|weeks?|months?|years?|hours?|minutes?|seconds?|people)\b)?",
    re.IGNORECASE,
)
_JOINS = re.compile(
    r"(?:\s*[(（]不?含[)）])?(?:以上|起)?\s*(?:[-–—~～至到]|\b(?:up )?to\b|\band\b)\s*", re.IGNORECASE
)  # between the ends: "5,000 元以上至 5 万元"
_BELOW = re.compile(
    r"(?:[≤<＜]|\b(?:up to|below|under|less than|at most|max(?:imum)?\.?)"
    r"|不超过|不超過|不足|至多|小于|小於|低于|低於)\s*\Z",
    re.IGNORECASE,
)
_ABOVE = re.compile(
    r"(?:[≥>＞]|\b(?:over|above|more than|from|at least|min(?:imum)?\.?)"
    r"|超过|超過|大于|大於|高于|高於|至少|不少于)\s*\Z",
    re.IGNORECASE,
)
_AND_LESS = re.compile(
    r"\s?(?:[(（]含[)）])?\s?(?:及|或)?(?:以内|以內|以下|之内|or (?:less|below)|and below)", re.IGNORECASE
)
_AND_MORE = re.compile(r"\s?(?:[(（]含[)）])?\s?(?:及|或)?(?:以上|起|or (?:more|above)|and above)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of something. `unit`: "" where none is named."""

    value: float
    unit: str = ""


@dataclass(frozen=True, slots=True)
class AmountRange:
    """From `low` to `high`, both within."""

    low: float
    high: float
    unit: str = ""

    def holds(self, amount: Amount) -> bool:
        """Whether the amount lies within, as far as both are of one unit; where one has none, they are."""
        is_same = not self.unit or not amount.unit or self.unit == amount.unit
        return is_same and self.low <= amount.value <= self.high


def amounts_in(text: str) -> list[Amount]:
    """Numbers with a unit or a scale: "90 m", "12万", "EUR 5,000"; a plain number may be a name."""
    matches = [
        match for match in _AMOUNT.finditer(nfkc(text)) if any(match[part] for part in ("unit", "scale", "currency"))
    ]
    return [_amount(match) for match in matches]


def ranges_in(text: str) -> Iterator[AmountRange]:
    """Of a cell, in their order."""
    plain = nfkc(text)
    matches = list(_AMOUNT.finditer(plain))
    at = 0
    while at < len(matches):
        here = matches[at]
        behind = matches[at + 1] if at + 1 < len(matches) else None
        if behind is not None and _JOINS.fullmatch(plain[here.end() : behind.start()]):
            high = _amount(behind)
            low = _amount(here, like=behind)
            if low.value < high.value:
                yield AmountRange(low.value, high.value, high.unit)
            at += 2
            continue
        amount = _amount(here)
        if _BELOW.search(plain[: here.start()]) or _AND_LESS.match(plain, here.end()):
            yield AmountRange(-math.inf, amount.value, amount.unit)
        elif _ABOVE.search(plain[: here.start()]) or _AND_MORE.match(plain, here.end()):
            yield AmountRange(amount.value, math.inf, amount.unit)
        at += 1


def covers(cell: str, amount: Amount) -> bool:
    """Whether a cell gives a range, and the amount lies within all that it says: "over 5 and up to 20"."""
    ranges = list(ranges_in(cell))
    return bool(ranges) and all(amounts.holds(amount) for amounts in ranges)


def _amount(match: re.Match[str], like: re.Match[str] | None = None) -> Amount:
    """`like`: the other end of a range, whose scale and unit count for both: 1–5 万元."""
    scale, unit = match["scale"], match["unit"] or match["currency"]
    if like is not None and not unit:
        unit = like["unit"] or like["currency"]
        scale = scale or like["scale"]
    value = float(re.sub(r"[,，]", "", match["number"])) * SCALES.get((scale or "").lower(), 1.0)
    name = (unit or "").lower()
    return Amount(value, SAME_UNITS.get(name, name))
