"""Values of a kind that a question asks for and a text must hold: money, weight, loudness, temperature.

A text on the subject without any such value cannot answer, however near it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ragcore.text.normalise import nfkc

# a number that may be money: what "costs 3 dB", or two hours, has no price
_AMOUNT = (
    r"(?>\d(?:[\d.,]*\d)?)(?!\s?(?:dB|%|ms\b|[kMG]?bit|bytes?\b|seconds?\b|minutes?\b|hours?\b|days?\b|points?\b))"
)


@dataclass(frozen=True, slots=True)
class _Kind:
    asks: re.Pattern[str]  # in a question
    tells: re.Pattern[str]  # in a text: a value, or the name of a column of them


def _kind(*, asks: str, tells: str) -> _Kind:
    return _Kind(re.compile(asks, re.IGNORECASE), re.compile(tells, re.IGNORECASE))


_KINDS = (
    _kind(
        asks=r"多少[钱錢]|几块[钱錢]|[价價][格钱錢]|[单單][价價]|运费|费用(?:是|要|有)?多少"
        r"|\bhow expensive\b|\b(?:price|cost|fee|charge)s? (?:of|for)\b|\bhow much (?:does|do|did) .*\bcost\b",
        tells=r"[￥¥$€£]|\d\s?[元块圆]|[万千百]元|\b(?:EUR|USD|CNY|RMB|GBP|CHF|euros?|dollars?|yuan|pounds?)\b"
        # "saves cost" tells no price
        r"|[价價]|[费費]|\b(?:prices?|fees?|charges?|free)\b|\|\s*costs?\b"
        rf"|\bcosts?\b[^.\n|\d]{{0,40}}{_AMOUNT}|{_AMOUNT}[^.\n|\d]{{0,40}}\bcosts?\b",
    ),
    _kind(
        asks=r"多重|重量(?:是|有)?多少|\bhow heavy\b|\bhow much (?:does|do) .*\bweigh\b|\bweight of\b",
        tells=r"\d\s?(?:kg|g|t|lbs?|mg|kilograms?|grams?|tons?|tonnes?|pounds?)\b|[\d一二三四五六七八九十百千]\s?"
        r"(?:公斤|千克|克|吨|斤)|重量|\bweigh",
    ),
    _kind(
        asks=r"噪[声聲音]|多少分贝|多吵|\bhow (?:loud|noisy|quiet)\b|\bnoise level\b",
        tells=r"\ddB|\d\s(?:dB|分贝)|\bdB\b|噪[声聲音]|\bnoise|\bloud",
    ),
    _kind(
        asks=r"(?:发射|發射|输出|輸出|额定|額定)功率(?:是|有|为)?多少|\b(?:transmit|output|rated|radiated) power\b",
        tells=r"\d\s?(?:[kmMµ]?W|dBm|dBW|hp|k?VA|瓦|千瓦|毫瓦)(?![A-Za-z])|功率|\bpower class\b"
        r"|\b(?:transmit|output|rated|radiated|maximum) power\b",
    ),
    _kind(
        asks=r"多少[度℃]|温度(?:是|要|有)?多少|多[热熱冷]|\bhow (?:hot|cold|warm)\b|\b(?:what|which) temperature\b",
        tells=r"\d\s?(?:°|℃|度|K\b|degrees?)|[温溫]度|\btemperature",
    ),
)


def lacks_value(question: str, texts: Iterable[str]) -> bool:
    """Whether a question asks for a value of a kind of which no text holds any."""
    plain = nfkc(question)
    kinds = [kind for kind in _KINDS if kind.asks.search(plain)]
    text = nfkc("\n".join(texts)) if kinds else ""
    return any(kind.tells.search(text) is None for kind in kinds)
