"""Where the terms of a lexicon stand in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ragcore.text.scripts import CJK

_TOKEN = re.compile(rf"[^\W_{CJK}]+")
_HAS_CJK = re.compile(f"[{CJK}]")
_LEAST = 2  # characters of a name


@dataclass(frozen=True, slots=True)
class TermSpans:
    """Names in any script, ready to be looked up: by their first word, or by their first two characters."""

    latin: dict[str, tuple[tuple[str, ...], ...]]  # first word -> the words of each name, longest first
    chinese: dict[str, tuple[str, ...]]  # first two characters -> names, longest first
    short: frozenset[str]  # names that count in capitals only, as written

    @classmethod
    def of(cls, names: Iterable[str]) -> TermSpans:
        """Names as written; those of one word with fewer than four letters only count as they are written."""
        latin: dict[str, set[tuple[str, ...]]] = {}
        chinese: dict[str, set[str]] = {}
        short: set[str] = set()
        for name in names:
            if len(name) < _LEAST:
                continue
            if _HAS_CJK.search(name):
                chinese.setdefault(name[:2].lower(), set()).add(name.lower())
                continue
            words = tuple(word.lower() for word in _TOKEN.findall(name))
            if words:
                latin.setdefault(words[0], set()).add(words)
            if len(words) == 1 and len(words[0]) < 4:
                short.add(name)
        return cls(
            {first: tuple(sorted(names_of_start, key=len, reverse=True)) for first, names_of_start in latin.items()},
            {first: tuple(sorted(names_of_start, key=len, reverse=True)) for first, names_of_start in chinese.items()},
            frozenset(short),
        )

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of each name, the longest one at each place; none within another of its script."""
        tokens = [(match.start(), match.end(), match.group().lower()) for match in _TOKEN.finditer(text)]
        end = 0
        for at, (start, stop, word) in enumerate(tokens):
            if start < end:
                continue
            for words in self.latin.get(word, ()):
                last = at + len(words)
                if last <= len(tokens) and tuple(token for _, _, token in tokens[at:last]) == words:
                    stop = tokens[last - 1][1]
                    if len(words) > 1 or len(word) > 3 or text[start:stop] in self.short:
                        end = stop
                        yield start, end
                    break
        if self.chinese and not text.isascii():
            yield from self._chinese(text.lower())

    def _chinese(self, text: str) -> Iterator[tuple[int, int]]:
        at = 0
        while at < len(text) - 1:
            name = next(
                (name_here for name_here in self.chinese.get(text[at : at + 2], ()) if text.startswith(name_here, at)),
                "",
            )
            if name:
                yield at, at + len(name)
            at += len(name) or 1
