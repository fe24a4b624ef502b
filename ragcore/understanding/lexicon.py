"""A small lexicon of general technical and office terms: abbreviations, full forms, synonyms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from ragcore.ports import Tokenizer
from ragcore.stage_ports import Lexicon
from ragcore.text.normalise import normalise_query
from ragcore.text.whole_names import closed_up
from ragcore.text.word_lists import read_lines
from ragcore.understanding.chinese_mentions import units

MOST_WORDS = 5  # of a term that is looked for


class DataLexicon:
    """Implements `ragcore.stage_ports.Lexicon`. `groups`: names of the same thing, the usual one first.

    Groups that are given are preferred over the general ones; a name may stand in several groups (CA).
    """

    def __init__(self, groups: Iterable[Sequence[str]] = ()) -> None:
        self._groups: dict[str, list[tuple[str, ...]]] = {}
        for group in (*(tuple(names) for names in groups), *_general()):
            for name in group:
                self._groups.setdefault(_key(name), []).append(group)

    def alternatives(self, term: str) -> tuple[str, ...]:
        """Other names of a term, the usual one first; () for an unknown term. Case does not matter."""
        key = _key(term)
        names = (name for group in self._groups.get(key, ()) for name in group if _key(name) != key)
        return tuple(dict.fromkeys(names))


class LexiconChain:
    """Implements `ragcore.stage_ports.Lexicon`: the names of several lexicons, those of the first one first."""

    def __init__(self, lexicons: Sequence[Lexicon]) -> None:
        self._lexicons = tuple(lexicons)

    def alternatives(self, term: str) -> tuple[str, ...]:
        """Other names, each once."""
        names: dict[str, str] = {}
        for lexicon in self._lexicons:
            for name in lexicon.alternatives(term):
                names.setdefault(_key(name), name)
        return tuple(names.values())


def lexicon_names() -> tuple[str, ...]:
    """Every name in the general lexicon."""
    return tuple(name for group in _general() for name in group)


def term_spans(text: str, tokenizer: Tokenizer) -> Iterator[tuple[int, int]]:
    """Places of a text where a term may stand, longest first at each place: whole words, and neighbours together."""
    words = [(unit.start + at, unit.start + end) for unit in units(text, tokenizer) for at, end in _parts(unit.text)]
    for first, (start, _) in enumerate(words):
        for _, end in reversed(words[first : first + MOST_WORDS]):
            if "\n" not in text[start:end]:
                yield start, end


def _parts(text: str) -> list[tuple[int, int]]:
    """Latin names are taken apart at spaces."""
    places, at = [], 0
    for part in text.split(" "):
        places.append((at, at + len(part)))
        at += len(part) + 1
    return places


def _key(name: str) -> str:
    return closed_up(normalise_query(name).lower())


@cache
def _general() -> tuple[tuple[str, ...], ...]:
    rows = (line.split("|") for line in read_lines("ragcore.understanding", "lexicon.txt"))
    return tuple(tuple(name.strip() for name in row if name.strip()) for row in rows)
