"""What kind of answer a question asks for, by cues in its words."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal, cast, get_args

from ragcore.text.normalise import normalise_query
from ragcore.text.word_lists import cue_pattern, read_sections

QuestionType = Literal["definition", "process", "comparison", "application", "general"]
KEPT_QUESTIONS = 1024  # of which a process remembers this: every step of an answer asks for it
Wanted = Literal["number", "time", "person", "place", "name", "any"]

_WANTED: tuple[tuple[Wanted, re.Pattern[str]], ...] = (
    (
        "time",
        re.compile(
            r"何时|何時|什么时候|什麼時候|哪一?年|哪[天月日]|几年|幾年|几月|幾月|几[点號号]|幾[點號]|年份|日期|截止"
            r"|\bwhen\b|what (?:year|date|month|day|time)|\bdeadline\b"
        ),
    ),
    (
        "number",
        re.compile(
            r"多少|几[个個名位次条條种種]|幾|多[长長高大重远遠深久粗宽寬快]|几天|幾天|百分之"
            r"|how (?:many|much|long|far|large|big|old|tall|often|high|fast)"
            r"|what (?:percentage|percent|number|size|length)"
        ),
    ),
    ("person", re.compile(r"谁|誰|哪一?[位名]|何人|什么人|什麼人|\bwho(?:m|se)?\b")),
    (
        "place",
        re.compile(
            r"哪里|哪裡|哪儿|何处|何處|什么地方|什麼地方|哪[个個一]?[国國省市县縣]"
            r"|\bwhere\b|(?:what|which) (?:city|country|state|place|region)"
        ),
    ),
    ("name", re.compile(r"什么名|什麼名|叫什么|叫什麼|哪[些个個种種家所一]|\bwhich\b|what (?:kind|type|name)")),
)


@lru_cache(maxsize=KEPT_QUESTIONS)
def question_type(question: str) -> QuestionType:
    """The first type with a cue in the question; "general" without any."""
    text = normalise_query(question).lower()
    for kind, pattern in _cues():
        if pattern.search(text):
            return kind
    return "general"


@lru_cache(maxsize=KEPT_QUESTIONS)
def wanted(question: str) -> Wanted:
    """What the answer must contain, by the question word: a number, a time, a name ..., or anything."""
    text = normalise_query(question).lower()
    return next((kind for kind, pattern in _WANTED if pattern.search(text)), "any")


@cache
def _cues() -> list[tuple[QuestionType, re.Pattern[str]]]:
    """The sections of the data file in order, each with a pattern of its cues."""
    sections = read_sections("ragcore.text", "question_cues.txt")
    types = {name: name.removesuffix(" weak") for name in sections}
    if unknown := set(types.values()) - set(get_args(QuestionType)):
        raise ValueError(f"question_cues.txt names unknown types: {', '.join(sorted(unknown))}")
    return [(cast(QuestionType, types[name]), cue_pattern(cues)) for name, cues in sections.items()]
