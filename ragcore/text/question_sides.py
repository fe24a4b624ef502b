"""Words that say which side of a thing a question asks for ("why", "steps"), not which thing."""

from __future__ import annotations

from functools import cache

from ragcore.text.word_lists import read_spaced_words


@cache
def question_sides() -> frozenset[str]:
    """The words of question_sides.txt: Chinese, and English as stems."""
    return frozenset(read_spaced_words("ragcore.text", "question_sides.txt"))
