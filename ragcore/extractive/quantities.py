"""Sentences that count what a question asks the number of: "64 preambles", "60 seconds", "8 个切片".

Any figure looks like an answer to "how many". One right in front of the thing that is asked for is an answer. So is, of
a property, a figure in its unit: "3 Nm" of a torque.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import numpy as np

from ragcore.extractive.answer_patterns import NUMBER_WORDS
from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray
from ragcore.text.scripts import CJK
from ragcore.text.word_lists import beginnings, read_lines

BETWEEN = 3  # words between a figure and the thing: "64 dedicated random access preambles"
QUANTITY_WEIGHT = 4.0  # log-odds of a sentence with a figure of the things that are counted
UNIT_WEIGHT = 6.0  # the same of one with a figure in a unit of the property that is asked for
LEAST_LETTERS = 3  # of a word that is compared by its beginning
_ENGLISH = re.compile(
    r"\bhow (?:many|much) ((?:[\w-]+ ){0,3}?[\w-]+)"
    r"(?= (?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have|had)\b"
    r"| (?:there|in|of|on|at|to|for|per)\b|\s*[?]|\Z)",
    re.IGNORECASE,
)
_MEASURE = "个個种種条條次位名台臺张張项項类類路根层層颗顆只隻份块塊"
_CHINESE = (
    re.compile(rf"(?:多少|几|幾)[{_MEASURE}]?([{CJK}A-Za-z]{{2,8}}?)(?=[?？，,。\s]|有|是|能|可|要|会|會|\Z)"),
    re.compile(rf"([{CJK}A-Za-z]{{2,8}}?)(?:一共|总共|總共|最多|至少|能|可以|需要|要){{0,2}}有(?:多少|几|幾)"),
)
_JOINS = re.compile(r"[,，;；]|以及|还有|\band\b", re.IGNORECASE)
_SIGNS = "€$£¥"  # that stand in front of a figure
_UNITS = {  # as figures are written with them
    "second": "s|sec|秒",
    "millisecond": "ms|毫秒",
    "minute": "min|分钟|分鐘",
    "hour": "h|小时|小時",
    "day": "d|天|日",
    "metre": "m|米",
    "meter": "m|米",
    "kilometre": "km|公里",
    "kilometer": "km|公里",
    "percent": "%",
    "degree": "°",
}


def quantity_pattern(question: str) -> re.Pattern[str] | None:
    """Matches a figure with the thing that is asked for behind it; None where no number of things is asked for."""
    if match := _ENGLISH.search(question):
        thing = match[1].split()[-1].lower()
        stem = thing.removesuffix("s") if len(thing) > LEAST_LETTERS else thing
        units = f"|(?:{_UNITS[stem]})(?![A-Za-z])" if stem in _UNITS else ""
        words = rf"(?:[\w-]+\s+){{0,{BETWEEN}}}?{re.escape(stem)}s?\b"
        return re.compile(rf"(?:\d|\b(?:{NUMBER_WORDS})\b)\s*(?:{words}{units})", re.IGNORECASE)
    for pattern in _CHINESE:
        if match := pattern.search(question):
            thing = re.escape(match[1])
            return re.compile(
                rf"(?:\d|(?<![同每任])[一二三四五六七八九十百千万两兩])\s*[{_MEASURE}]?\s*{thing}", re.IGNORECASE
            )
    return None


def quantity_odds(question: str, statements: Sequence[Statement]) -> FloatArray:
    """float32[n]: log-odds by which sentences with such a figure answer better."""
    counted, measured = gives_quantity(question, statements), gives_unit(question, statements)
    return np.asarray(QUANTITY_WEIGHT * counted + UNIT_WEIGHT * measured, np.float32)


def gives_quantity(question: str, statements: Sequence[Statement]) -> FloatArray:
    """float32[n]: 1 for each sentence that gives a number of the things that the question asks the number of."""
    pattern = quantity_pattern(question)
    hits = [pattern is not None and pattern.search(s.text) is not None for s in statements]
    return np.asarray(hits, np.float32)


def gives_unit(question: str, statements: Sequence[Statement]) -> FloatArray:
    """float32[n]: 1 for each sentence with a figure in a unit of the property that the question asks the value of.

    0 where it asks more than that: "how high is it, and when was it built".
    """
    is_single = _JOINS.search(question) is None
    patterns = [figure for asking, figure in _properties() if is_single and asking.search(question)]
    hits = [any(pattern.search(s.text) for pattern in patterns) for s in statements]
    return np.asarray(hits, np.float32)


@cache
def _properties() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Of each line of property_units.txt the words of questions, and a figure in one of the units."""
    lines = (line.split("|") for line in read_lines("ragcore.extractive", "property_units.txt"))
    return tuple((beginnings(asking), _figure_in(units)) for asking, units in lines)


def _figure_in(units: str) -> re.Pattern[str]:
    names = [unit.strip() for unit in units.split(",")]
    signs = "".join(name for name in names if name in _SIGNS)
    in_front = rf"|[{re.escape(signs)}]\s?\d" if signs else ""
    return re.compile(rf"\d\s?(?:{'|'.join(map(re.escape, names))})(?![A-Za-z]){in_front}")
