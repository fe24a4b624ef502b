"""Words of questions for what a column holds: "how much" asks for a column of prices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ragcore.text.word_lists import beginnings, read_lines


def is_asked_by_group(question: str, head: str) -> bool:
    """Whether the question has a word for what a column with this head holds."""
    return any(asking.search(question) and heads.search(head) for asking, heads in _column_groups())


def without_asking_words(question: str, heads: Sequence[str]) -> str:
    """The question without the words that ask for what columns with these heads hold."""
    for asking, of_heads in _column_groups():
        if any(map(of_heads.search, heads)):
            question = asking.sub(" ", question)
    return question


@cache
def _column_groups() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Of each line of the data file the words of questions and those of heads."""
    lines = (line.split("|") for line in read_lines("ragcore.extractive", "column_words.txt"))
    return tuple((beginnings(asking), beginnings(heads)) for asking, heads in lines)
