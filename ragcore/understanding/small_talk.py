"""Whether a question needs the knowledge base.

Greetings, thanks, and questions about the conversation or about the assistant itself do not.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, get_args

from ragcore.ports import Tokenizer
from ragcore.text.matching import keywords
from ragcore.text.word_lists import read_section_lines
from ragcore.understanding.phrases import phrase_pattern, phrase_text

Courtesy = Literal["thanks", "farewells", "greetings"]  # sections of greetings.txt; the first one of a text counts
Subject = Literal["conversation", "assistant"]  # sections of whole questions
SmallTalk = Courtesy | Subject
MAX_CHARACTERS = 120  # nobody greets longer


def needs_retrieval(text: str) -> bool:
    """False only if the whole text is greetings and thanks, or one question about the conversation or the assistant.

    Strict: whatever else stands beside a greeting makes it a question for the knowledge base.
    """
    return small_talk_kind(text) is None


def small_talk_kind(text: str) -> SmallTalk | None:
    """What a text without a question for the knowledge base is; None for any other text."""
    plain = phrase_text(text)
    if not plain or len(plain) > MAX_CHARACTERS:
        return None
    kinds = _courtesies(plain)
    if kinds:
        return next(kind for kind in get_args(Courtesy) if kind in kinds)
    return next((subject for subject in get_args(Subject) if _about(subject).fullmatch(plain)), None)


def may_be_small_talk(text: str, tokenizer: Tokenizer) -> bool:
    """Whether every keyword is a word of talk about talk: then a language model may say that nothing is to be found."""
    words = keywords(phrase_text(text), tokenizer)
    return len(text) <= MAX_CHARACTERS and all(word in _talk() for word in words)


@cache
def _section(name: str) -> tuple[str, ...]:
    return tuple(line.lower() for line in read_section_lines("ragcore.understanding", "greetings.txt")[name])


def _courtesies(plain: str) -> set[str]:
    """The kinds of phrases that a text is, with fillers; none if anything else stands in it.

    The longest fit is taken at each place, once for all.
    """
    at = 0
    kinds: set[str] = set()
    while at < len(plain):
        ends = {section: _longest(section, plain, at) for section in ("fillers", *get_args(Courtesy))}
        section = max(reversed(ends), key=lambda name: ends[name])  # a phrase before a filler
        if ends[section] == at:
            return set()
        kinds |= {section} - {"fillers"}
        at = ends[section]
    return kinds


def _longest(section: str, plain: str, at: int) -> int:
    """Where the longest line of a section that fits at a place ends; the place itself if none fits."""
    return max((match.end() for line in _lines(section) if (match := line.match(plain, at))), default=at)


@cache
def _lines(section: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rf"{phrase_pattern(line)}\s*") for line in _section(section))


@cache
def _about(subject: Subject) -> re.Pattern[str]:
    """A question about this, with greetings before it and fillers around it."""
    fillers, greetings, lines = (
        "|".join(map(phrase_pattern, _section(name))) for name in ("fillers", "greetings", subject)
    )
    return re.compile(rf"(?:(?:{fillers}|{greetings})\s*){{0,3}}(?:{lines})(?:\s*(?:{fillers})){{0,3}}\s*")


@cache
def _talk() -> frozenset[str]:
    return frozenset(word for line in _section("talk") for word in line.split())
