"""Whether a question needs the knowledge base.

Greetings, thanks, and questions about the conversation or about the assistant itself do not.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, get_args

from ragcore.ports import Tokenizer
from ragcore.text.matching import keywords
from ragcore.text.normalise import normalise_query
from ragcore.text.word_lists import read_section_lines

Courtesy = Literal["thanks", "farewells", "greetings"]  # sections of greetings.txt; the first one of a text counts
Subject = Literal["conversation", "assistant"]  # sections of whole questions
SmallTalk = Courtesy | Subject
MAX_CHARACTERS = 120  # nobody greets longer
_BRACKETS = {"(": "(?:", ")": ")", "[": "(?:", "]": ")?", "|": "|", "?": "?"}
_NOISE = re.compile(r"[^\w\s]+")
_SYNTAX = re.compile(r"[()\[\]|?]|\s+|[^()\[\]|?\s]+")
_TRADITIONAL = (
    "謝谢 們们 嗎吗 見见 囉啰 麼么 問问 題题 說说 話话 對对 談谈 總总 結结 討讨 論论 內内 個个 煩烦 剛刚 過过 還还 "
    "請请 給给 幫帮 歸归 納纳 顧顾 複复 復复 啟启 會会 這这 關关 於于 講讲 訴诉 幾几 數数 聽听 麗丽 後后 開开"
)
_SIMPLIFIED = str.maketrans({pair[0]: pair[1] for pair in _TRADITIONAL.split()})


def needs_retrieval(text: str) -> bool:
    """False only if the whole text is greetings and thanks, or one question about the conversation or the assistant.

    Strict: whatever else stands beside a greeting makes it a question for the knowledge base.
    """
    return small_talk_kind(text) is None


def small_talk_kind(text: str) -> SmallTalk | None:
    """What a text without a question for the knowledge base is; None for any other text."""
    plain = _plain(text)
    if not plain or len(plain) > MAX_CHARACTERS:
        return None
    kinds = _courtesies(plain)
    if kinds:
        return next(kind for kind in get_args(Courtesy) if kind in kinds)
    return next((subject for subject in get_args(Subject) if _about(subject).fullmatch(plain)), None)


def may_be_small_talk(text: str, tokenizer: Tokenizer) -> bool:
    """Whether every keyword is a word of talk about talk: then a language model may say that nothing is to be found."""
    words = keywords(_plain(text), tokenizer)
    return len(text) <= MAX_CHARACTERS and all(word in _talk() for word in words)


def _plain(text: str) -> str:
    """Lower case, punctuation and pictures as single spaces, simplified where a line needs it."""
    folded = normalise_query(text).lower().replace("’", "'").translate(_SIMPLIFIED)
    return normalise_query(_NOISE.sub(" ", folded))


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
    return tuple(re.compile(rf"{_pattern(line)}\s*") for line in _section(section))


@cache
def _about(subject: Subject) -> re.Pattern[str]:
    """A question about this, with greetings before it and fillers around it."""
    fillers, greetings, lines = ("|".join(map(_pattern, _section(name))) for name in ("fillers", "greetings", subject))
    return re.compile(rf"(?:(?:{fillers}|{greetings})\s*){{0,3}}(?:{lines})(?:\s*(?:{fillers})){{0,3}}\s*")


@cache
def _talk() -> frozenset[str]:
    return frozenset(word for line in _section("talk") for word in line.split())


def _pattern(line: str) -> str:
    """A line of the data file as a pattern; words of Latin script are whole words, spaces may be several or none."""
    return "".join(_piece(piece) for piece in _SYNTAX.findall(line))


def _piece(piece: str) -> str:
    if piece in _BRACKETS:
        return _BRACKETS[piece]
    if piece.isspace():
        return r"\s*"
    return rf"\b{re.escape(piece)}\b" if piece.isascii() else re.escape(piece)
