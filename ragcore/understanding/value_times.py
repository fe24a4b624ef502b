"""Follow-ups that want the value before, or the one that holds now: "and before that?", 改之前呢, 现在呢."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, get_args

from ragcore.text.scripts import language_of
from ragcore.text.word_lists import read_section_lines
from ragcore.understanding.mentions import Resolution
from ragcore.understanding.phrases import phrase_pattern, phrase_text

ValueTime = Literal["former", "present"]
MOST_CHARACTERS = 80
FORMER_EN, FORMER_ZH = "previously", "以前"
_OF_EDITION = (
    r"(?:in|under|according to) the (?:old|former|previous|earlier|current|new|latest|20\d\d)"
    r" ?(?:edition|version|rules|policy|terms|revision)?"
)
_TIMES = re.compile(
    r",?\s+(?:previously|formerly|originally|currently|now|today|at present|before(?: that| the change)?|earlier"
    rf"|in the past|{_OF_EDITION})(?=\s*[?.!]*\Z)"
    r"|以前的?|之前(?=[^，,]*(?:多少|多久|什么|几|哪))|原来的?|原先的?|(?:修改|调整|修订|改)(?:之|以)?前的?|现在的?|目前的?|如今的?"
    r"|[旧老新]版(?:本)?[的里中]?|20\d\d年?版[的里中]?",
    re.IGNORECASE,
)


def value_time_wish(text: str) -> ValueTime | None:
    """Which value of what was asked last a whole message wants; None for any other message."""
    plain = phrase_text(text)
    if not plain or len(plain) > MOST_CHARACTERS:
        return None
    return next((time for time in get_args(ValueTime) if _pattern(time).fullmatch(plain)), None)


def resolve_value_time(text: str, earlier: str) -> Resolution | None:
    """The earlier question about the value before or now; None for any other message, and without a question."""
    time = value_time_wish(text) if earlier else None
    if time is None:
        return None
    plain = _TIMES.sub("", earlier).strip() or earlier
    if time == "present":
        return Resolution(plain, (time,), True)
    if language_of(plain) == "zh":
        return Resolution(f"{FORMER_ZH}{plain}", (time,), True)
    stem = plain.rstrip(" ?.!")
    return Resolution(f"{stem}, {FORMER_EN}?", (time,), True)


def asks_former(question: str) -> bool:
    """Whether a standalone question was made to ask for the value before, see `resolve_value_time`."""
    return question.startswith(FORMER_ZH) or question.endswith(f", {FORMER_EN}?")


@cache
def _pattern(time: ValueTime) -> re.Pattern[str]:
    lines = read_section_lines("ragcore.understanding", "value_times.txt")[time]
    return re.compile("|".join(map(phrase_pattern, lines)))
