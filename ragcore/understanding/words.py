"""Word lists of this package: the text files beside this module, entries in lower case."""

from __future__ import annotations

import re
from functools import cache

from ragcore.text.word_lists import Cues, longest_first, read_cues, read_section

PACKAGE = "ragcore.understanding"


@cache
def section(file: str, name: str) -> tuple[str, ...]:
    """The entries of one section of `FILE.txt`, in order. Raises KeyError for an unknown section."""
    return tuple(dict.fromkeys(entry.lower() for entry in read_section(PACKAGE, f"{file}.txt", name)))


@cache
def entries(file: str, name: str) -> frozenset[str]:
    """The entries of one section as a set."""
    return frozenset(section(file, name))


@cache
def alternatives(file: str, *names: str) -> str:
    """The entries of sections as one group of a pattern, the longest one first."""
    words = longest_first(word for name in names for word in section(file, name))
    return "(?:" + "|".join(map(re.escape, words)) + ")"


def cues(name: str) -> Cues:
    """One section of the word lists of the analysis, with its pattern."""
    return read_cues(PACKAGE, "analysis_words.txt")[name]
