"""Whether the terms of a question stand in a text: CJK anywhere, Latin stems at the beginning of a word."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    total = sum(weights.values())
    if total <= 0:
        return 0.0
    ready = searchable(text)
    return sum(w for term, w in weights.items() if any(needle in ready for needle in needles(term))) / total
