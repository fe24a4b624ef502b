"""Word lists about questions: opposites, and what a question says about itself."""

from __future__ import annotations

import re
from functools import cache

from ragcore.text.word_lists import read_lines, read_section

PACKAGE = "ragcore.answerability"


@cache
def cue(section: str) -> re.Pattern[str]:
    """A pattern of the words of a section of cues.txt, in any case. Raises KeyError for an unknown section."""
    words = map(re.escape, read_section(PACKAGE, "cues.txt", section))
    return re.compile("|".join(rf"(?<![a-z]){word}(?![a-z])" for word in words), re.IGNORECASE)


def negated(text: str) -> bool:
    """Whether a text denies something; words that only look negated (未来, not only) do not count."""
    return bool(cue("negation").search(cue("not negation").sub(" ", text)))


@cache
def _opposites() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    pairs = []
    for line in read_lines(PACKAGE, "opposites.txt"):
        one, other = ("|".join(re.escape(w) for w in side.strip().split("/")) for side in line.split("|"))
        pairs.append((re.compile(rf"(?<![a-z])(?:{one})(?![a-z])"), re.compile(rf"(?<![a-z])(?:{other})(?![a-z])")))
    return tuple(pairs)


def swapped(question: str, text: str) -> int:
    """How many words of a question stand in a text only as their opposites. Both in lower case."""
    number = 0
    for one, other in _opposites():
        for mine, theirs in ((one, other), (other, one)):
            number += bool(mine.search(question) and theirs.search(text) and not mine.search(text))
    return number
