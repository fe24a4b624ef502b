"""Which words of a text say which relation, by groups of words of one meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from ragcore.text.normalise import normalise_query
from ragcore.text.tokenise import stem
from ragcore.text.word_lists import read_sections

_FILE = "relation_words.txt"
_WORD = re.compile(r"[^\W_]+(?:/[^\W_]+)?|['’]s\b")
_POSSESSIVE = ("'s", "’s")


@dataclass(frozen=True, slots=True)
class GroupMatch:
    """A run of words that says relations: positions of words [start, end) and the groups they belong to."""

    start: int
    end: int
    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Groups:
    phrases: Mapping[tuple[str, ...], frozenset[str]]  # stemmed words
    chinese: Mapping[str, frozenset[str]]
    kinds: Mapping[str, str]
    heads: Mapping[str, frozenset[tuple[str, ...]]]  # the first entries of each group, which say it in general
    longest: int


@cache
def _groups() -> _Groups:
    phrases: dict[tuple[str, ...], set[str]] = {}
    chinese: dict[str, set[str]] = {}
    kinds, heads = {}, {}
    for head, entries in read_sections("ragcore.graph", _FILE).items():
        name, kind = head.split()
        kinds[name] = kind
        firsts = (next((e for e in entries if e.isascii() == is_latin), "") for is_latin in (True, False))
        heads[name] = frozenset(_words(first) for first in firsts if first)
        for entry in entries:
            if entry.isascii():
                phrases.setdefault(_words(entry), set()).add(name)
            else:
                chinese.setdefault(entry, set()).add(name)
    return _Groups(
        {words: frozenset(names) for words, names in phrases.items()},
        {entry: frozenset(names) for entry, names in chinese.items()},
        kinds,
        heads,
        max(map(len, phrases)),
    )


def _words(entry: str) -> tuple[str, ...]:
    """An entry as it is compared: stemmed words; Chinese as one."""
    return tuple(stem(word) for word in entry.lower().split()) if entry.isascii() else (entry,)


def is_head(group: str, words: tuple[str, ...]) -> bool:
    """Whether words, as they are compared, say a relation in general ("leader") and not one of its kinds ("king")."""
    return words in _groups().heads[group]


def object_kind(group: str) -> str:
    """What the object of relations of this group is: person, place, time, number, organisation, language or thing."""
    return _groups().kinds[group]


def latin_words(text: str) -> list[str]:
    """Stemmed lower-case words; a possessive `'s` is a word of its own."""
    return [word if word in _POSSESSIVE else stem(word) for word in _WORD.findall(normalise_query(text).lower())]


def find_groups(words: tuple[str, ...]) -> list[GroupMatch]:
    """Phrases of the lists among stemmed words, the longest first at each place, without overlap."""
    phrases, at, matches = _groups(), 0, []
    while at < len(words):
        for length in range(min(phrases.longest, len(words) - at), 0, -1):
            names = phrases.phrases.get(words[at : at + length])
            if names:
                matches.append(GroupMatch(at, at + length, names))
                at += length
                break
        else:
            at += 1
    return matches


@lru_cache(maxsize=16_384)
def groups_of(text: str) -> frozenset[str]:
    """All groups of which a text has a word, longer phrases before the words in them."""
    groups: set[str] = set()
    for match in find_groups(tuple(latin_words(text))):
        groups |= match.groups
    for match in find_chinese(text):
        groups |= match.groups
    return frozenset(groups)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that may say a relation: stemmed ones, or a Chinese entry; `groups`: of the lists, () where it has none."""

    words: tuple[str, ...]
    groups: frozenset[str] = frozenset()


def phrases_of(text: str) -> Iterator[Phrase]:
    """The phrases of the lists in a text, its other words one by one, and a Chinese text as a whole."""
    words = tuple(latin_words(text))
    matches = find_groups(words)
    inside = {place for match in matches for place in range(match.start, match.end)}
    yield from (Phrase(words[match.start : match.end], match.groups) for match in matches)
    yield from (Phrase((word,)) for at, word in enumerate(words) if at not in inside and word.isascii())
    yield from (Phrase((text[match.start : match.end],), match.groups) for match in find_chinese(text))
    if not text.isascii():
        yield Phrase((text.strip(),))


@cache
def _chinese_pattern() -> re.Pattern[str]:
    entries = sorted(_groups().chinese, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, entries)))


def find_chinese(text: str) -> list[GroupMatch]:
    """Chinese entries of the lists in a text, by characters, the longest first, without overlap."""
    if text.isascii():
        return []
    groups = _groups().chinese
    return [GroupMatch(m.start(), m.end(), groups[m.group()]) for m in _chinese_pattern().finditer(text)]
