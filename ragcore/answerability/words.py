"""Word lists about questions: opposites, and what a question says about itself."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files


def _lines(name: str) -> list[str]:
    text = files("ragcore.answerability").joinpath(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@cache
def cue(section: str) -> re.Pattern[str]:
    """A pattern of the words of a section of cues.txt, in any case. Raises KeyError for an unknown section."""
    sections: dict[str, list[str]] = {}
    words: list[str] = []
    for line in _lines("cues.txt"):
        if line.startswith("="):
            sections[line[1:].strip()] = words = []
        elif line.isascii():
            words.extend(re.escape(word.strip()) for word in line.split("|"))
        else:
            words.extend(map(re.escape, line.split()))
    return re.compile("|".join(rf"(?<![a-z]){word}(?![a-z])" for word in sections[section]), re.IGNORECASE)


def negated(text: str) -> bool:
    """Whether a text denies something; words that only look negated (未来, not only) do not count."""
    return bool(cue("negation").search(cue("not negation").sub(" ", text)))


@cache
def _opposites() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    pairs = []
    for line in _lines("opposites.txt"):
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
