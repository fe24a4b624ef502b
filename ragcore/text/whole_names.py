"""Names of several words or characters in a text: all places of thousands of names in one pass.

A name is looked up by the part of it that the fewest names share: two neighbouring words that are no stop words, or
three characters of a Chinese name. So a text is compared with a table in C, and few places are looked at in Python.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words

MAX_TOKEN_CHARACTERS = 100  # a longer term is found by its parts
MOST_WORDS = 8  # of a term that is kept whole
WHOLE_CJK = 3  # characters; pairs are terms of the index anyway
SHORT_TEXT = 64  # characters up to which a loop is quicker than arrays
SPARSE = 16  # places of the table for each part of a name
LEAST_PLACES = 12  # of the table, as a power of two

_CJK = re.compile(f"[{CJK}]")
# With the space in front the text is only looked at where one stands.
_BETWEEN_SCRIPTS = re.compile(rf" (?:(?<=[{CJK}] )(?=[^\s{CJK}])|(?<=[^\s{CJK}] )(?=[{CJK}]))")
_PRIMES = (np.uint32(2654435761), np.uint32(2246822519), np.uint32(3266489917))

Name = tuple[list[str], str]  # its words, the term
Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeNames:
    """Names by the part that they are looked up by. Build it with `of`."""

    pairs: Mapping[tuple[str, str], tuple[Name, ...]]  # neighbours among the words that are no stop words
    parts: frozenset[tuple[str, str]]  # the same pairs; a set is quicker than a mapping
    single: Mapping[str, tuple[Name, ...]]  # names with at most one such word, by it or else by their first word
    lone: frozenset[str]  # those words that are no stop words
    usual: frozenset[str]  # those that are
    openings: Mapping[str, tuple[tuple[int, str], ...]]  # three characters -> where in the name they stand, the name
    table: npt.NDArray[np.bool_]  # whether three characters may be an opening, by their hash

    @classmethod
    def of(cls, *, chinese: Iterable[str], other: Iterable[str]) -> WholeNames:
        """`chinese`: names with Chinese characters, lower case, with spaces only between Latin words; `other`: words
        joined by spaces."""
        split = (key.split(" ") for key in other if len(key) <= MAX_TOKEN_CHARACTERS)
        names = [(words, " ".join(words)) for words in split if 2 <= len(words) <= MOST_WORDS]
        several = [name for name in names if len(_kept(name[0])) > 1]
        pairs = _by_part(several, [list(pairwise(_kept(words))) for words, _term in several])
        single = _grouped(((_kept(words) or words)[0], (words, term)) for words, term in names if len(_kept(words)) < 2)
        openings = _openings(chinese)
        return cls(
            pairs=pairs,
            parts=frozenset(list(pairs)),
            single=single,
            lone=frozenset(single.keys() - stop_words()),
            usual=frozenset(single.keys() & stop_words()),
            openings=openings,
            table=_table(openings),
        )

    def found_in(self, text: str, words: Sequence[str], terms: Sequence[str] | None = None) -> list[str]:
        """The term of each name as often as it stands in the text, in no order; arguments as
        `TermLexicon.whole_terms`."""
        terms_of_names: list[str] = []
        word_terms = terms if terms is not None else _kept(words) if self.parts or self.lone else ()
        if self.parts:
            for pair in self.parts.intersection(zip(word_terms, word_terms[1:], strict=False)):
                _count(self.pairs[pair], words, terms_of_names)
        if self.lone:
            for word in self.lone.intersection(word_terms):
                _count(self.single[word], words, terms_of_names)
        if self.usual:
            for word in self.usual.intersection(words):
                _count(self.single[word], words, terms_of_names)
        if self.openings and not text.isascii() and _CJK.search(text):
            terms_of_names += self._chinese(closed_up(text.lower()))
        return terms_of_names

    def _chinese(self, text: str) -> Iterator[str]:
        openings = self.openings
        if len(text) <= SHORT_TEXT:
            places: Iterable[int] = (at for at in range(len(text) - 2) if text[at : at + 3] in openings)
        else:
            places = self.table[_hashes(text, len(self.table))].nonzero()[0].tolist()
        for at in places:
            for before, name in openings.get(text[at : at + 3], ()):
                start, end = at - before, at - before + len(name)
                if start >= 0 and text.startswith(name, start) and is_apart(text, start, end):
                    yield name.replace(" ", "")


def closed_up(text: str) -> str:
    """A text without the spaces that Chinese typography puts around Latin words: RRC 连接 becomes RRC连接."""
    return _BETWEEN_SCRIPTS.sub("", text)


def is_apart(text: str, start: int, end: int) -> bool:
    """Whether a place of a text begins and ends where no Latin word or number goes on: NSA组网 does not name SA组网."""
    return not (_is_within_word(text, start) or _is_within_word(text, end))


def _is_within_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1].isascii() and text[at - 1 : at + 1].isalnum() and text[at].isascii()


def _kept(words: Sequence[str]) -> list[str]:
    stop = stop_words()
    return [word for word in words if word not in stop]


def _count(names: Sequence[Name], words: Sequence[str], counted: list[str]) -> None:
    """Add the term of each name once for each of its places among the words."""
    for name, term in names:
        first, length, at = name[0], len(name), -1
        for _ in range(words.count(first)):
            at = words.index(first, at + 1)
            if words[at : at + length] == name:
                counted.append(term)


def _by_part(names: Sequence[Name], parts: Sequence[Sequence[Key]]) -> dict[Key, tuple[Name, ...]]:
    """Names by the part of theirs that the fewest names have."""
    usual = Counter(part for some in parts for part in some)
    return _grouped((min(some, key=usual.__getitem__), name) for some, name in zip(parts, names, strict=True))


def _grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, tuple[Value, ...]]:
    values_of: dict[Key, list[Value]] = {}
    for key, value in pairs:
        values_of.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in values_of.items()}


def _openings(names: Iterable[str]) -> dict[str, tuple[tuple[int, str], ...]]:
    """Names by the three characters that the fewest names have."""
    long_names = [name for name in names if WHOLE_CJK <= len(name) <= MAX_TOKEN_CHARACTERS]
    usual = Counter(name[at : at + 3] for name in long_names for at in range(len(name) - 2))

    def rarest(name: str) -> int:
        return min(range(len(name) - 2), key=lambda at: usual[name[at : at + 3]])

    return _grouped((name[at : at + 3], (at, name)) for name in long_names for at in [rarest(name)])


def _table(openings: Collection[str]) -> npt.NDArray[np.bool_]:
    """bool[power of two], true at the hashes of the openings."""
    size = 1 << max(LEAST_PLACES, (SPARSE * len(openings)).bit_length())
    table = np.zeros(size, dtype=np.bool_)
    for opening in openings:
        table[_hashes(opening, size)] = True
    return table


def _hashes(text: str, size: int) -> npt.NDArray[np.uint32]:
    """uint32[characters - 2]: a number below `size`, a power of two, for each three neighbouring characters."""
    codes: npt.NDArray[np.uint32] = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    first_prime, two, three = _PRIMES
    mixed = codes[:-2] * first_prime + codes[1:-1] * two + codes[2:] * three
    return np.asarray(mixed >> np.uint32(33 - size.bit_length()), dtype=np.uint32)
