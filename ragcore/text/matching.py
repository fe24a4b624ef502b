"""Whether the terms of a question stand in a text: CJK anywhere, Latin stems at the beginning of a word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from ragcore.text.normalise import normalise_query

MARK = "\x01"
_WORD_START = re.compile(r"(?<![a-z0-9])(?=[a-z0-9])|(?<=[a-z])(?=[0-9])")


@lru_cache(maxsize=20_000)
def searchable(text: str) -> str:
    """Normalised, lower case, with a mark before every Latin word or number, so that beginnings can be found."""
    return _WORD_START.sub(MARK, normalise_query(text).lower())


def needles(term: str) -> tuple[str, ...]:
    """What to look for in a searchable text; Porter's final i may be a y."""
    marked = _WORD_START.sub(MARK, term)
    return (marked, marked[:-1] + "y") if len(term) > 2 and term.endswith("i") else (marked,)


def share_in(weights: Mapping[str, float], text: str) -> float:
    """Share of the terms, by their weights, that stand in a text, 0 to 1; 0 without any weight."""
    return shares_in(weights, [text])[text]


def shares_in(weights: Mapping[str, float], texts: Iterable[str]) -> dict[str, float]:
    """The same for many texts; each different one is looked at once."""
    total = sum(weights.values())
    different = dict.fromkeys(texts, 0.0)
    if total <= 0:
        return different
    wanted = [(weight, needles(term)) for term, weight in weights.items()]
    for text in different:
        ready = searchable(text)
        held = sum(weight for weight, sought in wanted if any(needle in ready for needle in sought))
        different[text] = held / total
    return different
