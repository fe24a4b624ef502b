"""Words of which one cannot stand for the other, and which side of a thing a question asks about.

"What was the ratio before the repair?" is not answered by what it was after the repair, though that sentence shares
every other word. opposites.txt holds the pairs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from ragcore.ports import Tokenizer
from ragcore.text.across_words import AcrossWord, across_words
from ragcore.text.glossary import glossary_of
from ragcore.text.matching import keywords
from ragcore.text.normalise import nfkc
from ragcore.text.scripts import language_of
from ragcore.text.word_lists import longest_first, read_section_lines

FILE = "opposites.txt"
KEPT_QUESTIONS = 256  # whose opposites a process remembers: each is looked at for every source
NEAR_WORDS = 4  # on each side of an English word that say of what it is
NEAR_HAN = 6  # the same in Chinese characters
LEAST_ACROSS = 0.5  # share of a meaning that text in the other language must have
Standing = Literal["same", "other", "none"]
Place = Literal["behind", "before", "both"]

_WORDS = r"(?:[^\w\u4e00-\u9fff]*[\w-]+)"
_BEHIND = re.compile(rf"{_WORDS}{{0,{NEAR_WORDS}}}")
_BEFORE = re.compile(rf"(?:[\w-]+[^\w\u4e00-\u9fff]*){{0,{NEAR_WORDS}}}\Z")
_PHRASE_END = re.compile(r"(?<=.)[的之，、]")  # 第二阶段的目标
_SENTENCE_END = re.compile(r"[.!?;。！？；](?:\s|\Z)|[。！？；]")


@dataclass(frozen=True, slots=True)
class _Opposites:
    """One line of sides, ready to be looked for."""

    pattern: re.Pattern[str]  # every word of it, longer ones first: 不含税 is no 含税
    words: Mapping[str, tuple[int, Place]]  # word -> its side, and where the words stand that say of what
    is_ordered: bool = False  # texts tell of the first side earlier


@dataclass(frozen=True, slots=True)
class Mention:
    """A word of a side in a text."""

    word: str
    side: int
    around: str  # the words that say of what


@dataclass(frozen=True, slots=True)
class NamedSide:
    """A side that a question names, of what, and how it is told in texts."""

    opposites: _Opposites
    side: int
    word: str  # as the question has it
    terms: frozenset[str]  # that say of what: words of the question, at least one
    across: tuple[AcrossWord, ...]  # the same for texts in the other language
    is_bound: bool  # the side is one of these terms alone: "before the repair", not "uplink"

    @property
    def direction(self) -> int:
        """Where a text tells of this side: -1 before what it tells of the other one, 1 behind it, 0 anywhere."""
        return 0 if not self.opposites.is_ordered else -1 if self.side == 0 else 1

    def mention_in(self, text: str, tokenizer: Tokenizer) -> tuple[Standing, str]:
        """Which side a text tells of, and its word for the other one; "none": of neither, or of another thing."""
        mentions = list(_mentions(self.opposites, nfkc(text).lower(), tokenizer))
        of_thing = [mention for mention in mentions if self._is_of_thing(mention.around, tokenizer)]
        if any(mention.side == self.side for mention in (of_thing if self.is_bound else mentions)):
            return "same", ""
        other = next((mention.word for mention in of_thing if mention.side != self.side), "")
        return ("other", other) if other else ("none", "")

    def has_word(self, text: str) -> bool:
        """Whether a text names any of the sides, of whatever thing."""
        return self.opposites.pattern.search(nfkc(text).lower()) is not None

    def _is_of_thing(self, around: str, tokenizer: Tokenizer) -> bool:
        words = frozenset(tokenizer.words(around))
        if self.terms & words or any(not term.isascii() and term in around for term in self.terms):
            return True
        return any(entry.share_in(around, words) >= LEAST_ACROSS for entry in self.across)


def named_sides(question: str, tokenizer: Tokenizer) -> tuple[NamedSide, ...]:
    """The sides that a question names; none of a line of which it names several, or does not say of what."""
    plain = nfkc(question).lower()
    sides: list[NamedSide] = []
    for opposites in _sides():
        mentions = list(_mentions(opposites, plain, tokenizer))
        if len({mention.side for mention in mentions}) != 1:
            continue
        around = " ".join(mention.around for mention in mentions)
        terms = frozenset(word for word in keywords(around, tokenizer) if word not in opposites.words)
        if terms:
            word = mentions[0].word
            is_bound = opposites.words[word][1] != "both"
            across = _across(around, tokenizer)
            sides.append(NamedSide(opposites, mentions[0].side, word, terms, across, is_bound))
    return tuple(sides)


def _across(text: str, tokenizer: Tokenizer) -> tuple[AcrossWord, ...]:
    glossary = glossary_of(tokenizer)
    return tuple(across_words(text, tokenizer, glossary)) if glossary is not None else ()


def _mentions(opposites: _Opposites, text: str, tokenizer: Tokenizer) -> Iterator[Mention]:
    """The words of the sides in a text in lower case, each with those that say of what."""
    for match in opposites.pattern.finditer(text):
        side, place = opposites.words[match.group()]
        if match.group().isascii() or len(match.group()) > 1 or _is_word(text, match.start(), tokenizer):
            yield Mention(match.group(), side, _around(text, match.start(), match.end(), place))


def _is_word(text: str, at: int, tokenizer: Tokenizer) -> bool:
    """Whether a Chinese character is a word by itself: 前 of 修复前, not of 目前."""
    return text[at] in tokenizer.words(text[max(0, at - NEAR_HAN) : at + NEAR_HAN])


def _around(text: str, start: int, end: int, place: Place) -> str:
    """The words of the same sentence that stand beside a word."""
    behind, before = _SENTENCE_END.split(text[end:], maxsplit=1)[0], _SENTENCE_END.split(text[:start])[-1]
    parts = []
    if place != "behind":
        parts.append(before[-NEAR_HAN:] if language_of(before[-NEAR_HAN:]) == "zh" else _last_words(before))
    if place != "before":
        is_chinese = language_of(behind[:NEAR_HAN]) == "zh"
        parts.append(_PHRASE_END.split(behind[:NEAR_HAN])[0] if is_chinese else _first_words(behind))
    return " ".join(parts)


def _first_words(text: str) -> str:
    match = _BEHIND.match(text)
    return match.group() if match else ""


def _last_words(text: str) -> str:
    match = _BEFORE.search(text)
    return match.group() if match else ""


@cache
def _sides() -> tuple[_Opposites, ...]:
    sections = read_section_lines("ragcore.text", FILE)
    return tuple(_opposites(line, is_ordered=name == "order") for name in ("order", "side") for line in sections[name])


def _opposites(line: str, *, is_ordered: bool) -> _Opposites:
    words: dict[str, tuple[int, Place]] = {}
    for side, entries in enumerate(line.split("|")):
        for entry in (entry.strip() for entry in entries.split("/")):
            place: Place = "before" if entry.startswith("~") else "behind" if entry.endswith("~") else "both"
            words[entry.strip("~ ")] = side, place
    listed = (rf"(?<![a-z]){re.escape(w)}(?![a-z])" if w.isascii() else re.escape(w) for w in longest_first(words))
    return _Opposites(re.compile(rf"(?<!per )(?<!\d )(?<!\d)(?:{'|'.join(listed)})"), words, is_ordered)


# ── signs whether sources answer ────────────────────────────────────────────────────────────────────


def count_opposites(question: str, text: str) -> int:
    """How many words of a question stand in a text only as their opposites. Both in lower case."""
    return sum(bool(opposite.search(text) and not word.search(text)) for word, opposite in _opposites_of(question))


@lru_cache(maxsize=KEPT_QUESTIONS)
def _opposites_of(question: str) -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Of each word of a question that has an opposite the pattern, and that of its opposite."""
    both_ways = ((word, opposite) for one, other in _signs() for word, opposite in ((one, other), (other, one)))
    return tuple((word, opposite) for word, opposite in both_ways if word.search(question))


@cache
def _signs() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    pairs = []
    for line in read_section_lines("ragcore.text", FILE)["sign"]:
        one, other = ("|".join(re.escape(w) for w in side.strip().split("/")) for side in line.split("|"))
        pairs.append((re.compile(rf"(?<![a-z])(?:{one})(?![a-z])"), re.compile(rf"(?<![a-z])(?:{other})(?![a-z])")))
    return tuple(pairs)
