"""Sentences by the case that a question asks about: a rule for "more than 6 years" answers nobody with 5 years.

A question with an amount ("after 5 years", 工作10年) is answered by the sentence whose range holds it. One that
names no case is answered by the rule without a condition, where a sentence beside it says the same for some cases only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ragcore.extractive.quantities import quantity_odds
from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray
from ragcore.text.amount_ranges import Amount, AmountRange, amounts_in, ranges_in
from ragcore.text.question_type import wanted

IN_RANGE = 6.0  # log-odds of a sentence whose range holds the amount of the question
OUT_OF_RANGE = 4.0  # that one loses whose range does not
CONDITION = (
    7.0  # that one loses which holds on a condition, where another one says the same without: more than a figure gives
)
SAME_RULE = 0.5  # of the terms of the shorter one of two sentences, from which they are one rule for different cases
DURATION = 4.0  # log-odds of a sentence with a duration, where one is asked for
RULE = 1.5  # log-odds of a sentence that allows or forbids
_UNITS = {
    **dict.fromkeys(("year", "years", "年", "周年"), "year"),
    **dict.fromkeys(("month", "months", "个月", "月"), "month"),
    **dict.fromkeys(("week", "weeks", "周"), "week"),
    **dict.fromkeys(("day", "days", "天", "日"), "day"),
    **dict.fromkeys(("hour", "hours", "h", "小时"), "hour"),
    **dict.fromkeys(("minute", "minutes", "分钟"), "minute"),
    **dict.fromkeys(("metre", "metres", "meter", "meters", "m"), "metre"),
}
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_WORDS = {word: str(number) for number, word in enumerate(_NUMBERS, start=1)}
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b(?= (?:year|month|week|day|hour|minute)s?\b)", re.IGNORECASE)
_NOT_FULL, _FULL = re.compile(r"不满|不滿|未满|未滿"), re.compile(r"(?:已|每)?[满滿](?=\s?\d)")
_CONDITION = re.compile(
    r"\b(?:above|below|over|under|beyond|more than|less than|longer than|from)"
    r" (?P<en>[-−]?\d[^,;.]{0,24}?)(?=,| (?:the|a|an|it|you)\b)"
    r"|(?:超过|超過|高于|高於|低于|低於|大于|小于)\s?(?P<zh>\d[^，,。；]{0,10})(?=[的时時，,])",
    re.IGNORECASE,
)
_ALLOWED = re.compile(
    r"\b(?:can|could|may|must|should) (?:i|we|you|one|people|employees|visitors|guests|it|they|the)\b"
    r"|\b(?:allowed|permitted)\b|能[^，。]{0,12}[吗嗎么]|可以|可否|能不能|允许|允許",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"\bhow (?:much|many|long|often|far|fast|high|hot|heavy|big|late|early)\b|\b(?:limit|maximum|minimum|at most)\b"
    r"|最多|最少|多少|多久|几[个天年月日次]|上限|能[^，。]{0,6}几",
    re.IGNORECASE,
)
_HOW_LONG = re.compile(r"多久|多长时间|多長時間|\bhow long (?:can|may|must|should)\b", re.IGNORECASE)
_DURATION = re.compile(
    r"\d\s?(?:个)?(?:小时|小時|分钟|分鐘|秒|天|日|周|星期|月|年|hours?|minutes?|days?|weeks?|months?|years?|min|h)(?![A-Za-z])"
)
_TELLS_RULE = re.compile(
    r"\b(?:may|must|forbidden|prohibited|not allowed|not permitted|allowed|permitted|at most|no more than|up to|never"
    r"|nobody|no one|required|exceed)\b"
    r"|不得|不准|不能|不可|禁止|严禁|嚴禁|可以|允许|允許|最多|至多|不超过|不超過|必须|必須",
    re.IGNORECASE,
)


def asks_rule(question: str) -> bool:
    """Whether a question asks what is allowed, or how much: the sentence with the rule or the limit answers."""
    return (
        wanted(question) in ("number", "time")
        or _ALLOWED.search(question) is not None
        or _LIMIT.search(question) is not None
    )


def case_odds(question: str, statements: Sequence[Statement]) -> FloatArray:
    """float32[n]: log-odds by which sentences with a figure of what is asked for, or of its case, answer better."""
    of_case = _range_odds(question, statements) - _condition_loss(question, statements)
    return np.asarray(quantity_odds(question, statements) + of_case + _rule_odds(question, statements), np.float32)


def _rule_odds(question: str, statements: Sequence[Statement]) -> FloatArray:
    """float32[n]: more for sentences that allow or forbid, and for those with a duration, where that is asked for."""
    odds = np.zeros(len(statements), np.float32)
    for asked, told, weight in ((_ALLOWED, _TELLS_RULE, RULE), (_HOW_LONG, _DURATION, DURATION)):
        if asked.search(question):
            odds += weight * np.array([told.search(statement.text) is not None for statement in statements])
    return odds


def _range_odds(question: str, statements: Sequence[Statement]) -> FloatArray:
    amounts = [amount for amount in map(_in_units, amounts_in(_NUMBER_WORD.sub(_digits, question))) if amount.unit]
    odds = np.zeros(len(statements), np.float32)
    if not amounts:
        return odds
    for at, statement in enumerate(statements):
        ranges = [] if statement.is_row else _ranges(statement.text)
        same = [amount for amount in amounts if any(bounds.unit == amount.unit for bounds in ranges)]
        if same:
            of_unit = [bounds for bounds in ranges if bounds.unit == same[0].unit]
            is_within = all(bounds.low <= same[0].value <= bounds.high for bounds in of_unit)
            odds[at] = IN_RANGE if is_within and not _is_at_open_end(same[0], statement.text) else -OUT_OF_RANGE
    return odds if (odds > 0).any() else np.zeros(len(statements), np.float32)


def _is_at_open_end(amount: Amount, text: str) -> bool:
    """Whether the amount is the end that a range leaves out: 8 of 不满8年, 6 of "more than 6 years"."""
    number = f"{amount.value:g}"
    return re.search(rf"(?:不满|不滿|未满|不足|超过|more than|less than|over|under)\s?{number}(?!\d)", text) is not None


def _ranges(text: str) -> list[AmountRange]:
    plain = _FULL.sub("至少", _NOT_FULL.sub("不足", text))
    return [
        AmountRange(bounds.low, bounds.high, _UNITS[bounds.unit])
        for bounds in ranges_in(plain)
        if bounds.unit in _UNITS
    ]


def _in_units(amount: Amount) -> Amount:
    return Amount(amount.value, _UNITS.get(amount.unit, ""))


def _digits(match: re.Match[str]) -> str:
    return _WORDS[match[0].lower()]


def _condition_loss(question: str, statements: Sequence[Statement]) -> FloatArray:
    loss = np.zeros(len(statements), np.float32)
    if not asks_rule(question):
        return loss
    figures = set(re.findall(r"\d+", question))
    conditional = {at: match for at, s in enumerate(statements) if (match := _CONDITION.search(s.text)) is not None}
    for at, match in conditional.items():
        if figures & set(re.findall(r"\d+", match["en"] or match["zh"])):
            continue
        statement, rest = statements[at], statements[at].text[: match.start()] + statements[at].text[match.end() :]
        if not re.search(r"\d", rest):
            continue  # the figure of the condition is the limit itself
        terms = set(statement.terms)
        plain = (s for other, s in enumerate(statements) if other not in conditional and s.source is statement.source)
        loss[at] = CONDITION * any(_is_same_rule(terms, set(s.terms)) and re.search(r"\d", s.text) for s in plain)
    return loss


def _is_same_rule(terms: set[str], other: set[str]) -> bool:
    return len(terms & other) >= SAME_RULE * max(min(len(terms), len(other)), 1)
