"""How difficult a document is, by its attribute."""

from __future__ import annotations

from functools import cache

from ragcore.text.normalise import normalise_query
from ragcore.text.word_lists import read_sections

UNKNOWN = 2.0  # between easy and hard, as what says nothing
RANKS = {"easy": 1.0, "medium": 2.0, "hard": 3.0}


def difficulty_rank(text: str) -> float:
    """The easier, the lower: 1 easy, 2 medium or unknown, 3 hard; a number as it is."""
    plain = normalise_query(text).casefold()
    return float(plain) if plain.isdecimal() else _ranks().get(plain, UNKNOWN)


@cache
def _ranks() -> dict[str, float]:
    sections = read_sections("ragcore.text", "difficulty_words.txt")
    return {word.casefold(): RANKS[name] for name, words in sections.items() for word in words}
