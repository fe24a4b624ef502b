"""Messages that want the answer before in another language: "in Chinese?", 用英文说."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ragcore.text.word_lists import read_section_lines
from ragcore.types import Language
from ragcore.understanding.mentions import Resolution
from ragcore.understanding.phrases import phrase_pattern, phrase_text

MOST_CHARACTERS = 80
LANGUAGES: tuple[Language, ...] = ("zh", "en", "other")
NAME = "LANGUAGE"
SIGN = "language"  # that a question depends on the one before it: it is the same one


def language_wish(text: str, earlier: str) -> Language | None:
    """The language in which a whole message wants the answer to the question `earlier`; None for any other message.

    "other" also where it names none. After a question that names a language itself, "and in English?" asks it again
    about that language, and is no wish.
    """
    plain = phrase_text(text)
    if not earlier or not plain or len(plain) > MOST_CHARACTERS:
        return None
    if _pattern("translations", "").fullmatch(plain):
        return "other"
    sections = ("wishes",) if _names_language(phrase_text(earlier)) else ("wishes", "bare")
    return next(
        (
            language
            for language in LANGUAGES
            if any(_pattern(section, language).fullmatch(plain) for section in sections)
        ),
        None,
    )


def wish_in_conversation(text: str, questions: Sequence[str]) -> Language | None:
    """The same after some questions, of which the last one that is no such wish itself counts."""
    earlier = ""
    for question in questions:
        earlier = question if language_wish(question, earlier) is None else earlier
    return language_wish(text, earlier)


def resolve_answer_wish(text: str, earlier: str) -> Resolution | None:
    """The earlier question for a wish about its answer; None for any other message."""
    return Resolution(earlier, (SIGN,), True) if language_wish(text, earlier) is not None else None


def _names_language(plain: str) -> bool:
    return any(re.search(_names(language), plain) for language in LANGUAGES)


@cache
def _names(language: str) -> str:
    return "(?:" + "|".join(map(phrase_pattern, _section(language))) + ")"


@cache
def _pattern(section: str, language: str) -> re.Pattern[str]:
    """The lines of a section as one pattern; `language`: whose names stand where a line has one."""
    names = phrase_pattern(NAME)
    lines = (phrase_pattern(line) for line in _section(section))
    return re.compile("|".join(line.replace(names, _names(language)) if language else line for line in lines))


def _section(name: str) -> tuple[str, ...]:
    return read_section_lines("ragcore.understanding", "answer_language.txt")[name]
