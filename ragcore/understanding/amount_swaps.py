"""The question before, about another amount: 满十年的呢 after one about 4 years, "and for 36 hours?"."""

from __future__ import annotations

import re

from ragcore.text.amount_ranges import amount_places
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words
from ragcore.understanding.code_swaps import swap_code

_FILLING = re.compile(r"[满滿了的是呢人员工员那要如果超过过就有以上下我们,，。?？!！\s]")
_WORD = re.compile(rf"[A-Za-z]+|[{CJK}]")
_SAME = re.compile(
    r"\b(?:the\s)?same (?:quantity|quantities|amount|number|volume|order size|level|grade|duration)\b"
    r"|(?:同样|一样|同等|相同)的?(?:数量|量|金额|级别|职级|年限|时长|时间)|(?:数量|金额|级别|职级)(?:不变|一样|相同)",
    re.IGNORECASE,
)


def swap_value(new: str, earlier: str) -> str | None:
    """The earlier question with `new` in the place of a code of its form, or of an amount in its unit; else None."""
    return swap_code(new, earlier) or swap_amount(new, earlier)


def swap_amount(new: str, earlier: str) -> str | None:
    """The earlier question with another amount in the place of one in the same unit; None where `new` says more."""
    places = [place for place in amount_places(new) if place.is_named]
    if len(places) != 1:
        return None
    place = places[0]
    rest = _FILLING.sub(" ", f"{new[: place.start]} {new[place.end :]}")
    if any(word.lower() not in stop_words() for word in _WORD.findall(rest)):
        return None
    like = [old for old in amount_places(earlier) if old.is_named and old.amount.unit == place.amount.unit]
    if not like or like[-1].amount == place.amount:
        return None
    return f"{earlier[: like[-1].start]}{new[place.start : place.end]}{earlier[like[-1].end :]}"


def with_same_amount(text: str, earlier: str) -> str | None:
    """ "Same quantity but with a lid": with the amount of the earlier question in words; None for anything else."""
    match = _SAME.search(text)
    places = amount_places(earlier)
    measures = [place for place in places if place.is_named] or [place for place in places if place.number]
    if match is None or not measures:
        return None
    return f"{text[: match.start()]}{earlier[measures[-1].start : measures[-1].end].strip()}{text[match.end() :]}"
