"""Which sentences an extractive answer is made of: as many as the question needs, within a budget (A4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragcore.ports import FloatArray
from ragcore.providers.extractive_sentences import Statement
from ragcore.text.similarity import jaccard

TITLE_COLUMNS = 40
_FULL_STOP = re.compile(r"[。！.!;；…][」』”\")）]*\Z")
_QUESTION = re.compile(r"[?？][」』”\")）.]*\Z")
REDUNDANT = 0.7  # Jaccard of the terms from which two sentences say the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long an answer gets. Columns: a CJK character takes two."""

    most_columns: int = 900  # the whole answer, unless its first sentence alone is longer
    core_sentences: int = 6
    supplements: int = 2  # further sources
    point_sentences: int = 3  # of one of them
    worth: float = 0.006  # probability per hundred columns below which a sentence is not worth its place


@dataclass(frozen=True, slots=True)
class Choice:
    """The best source's sentences, and those of other sources, in the order of their sources."""

    core: tuple[Statement, ...]
    points: tuple[tuple[Statement, ...], ...]


def chosen(found: Sequence[Statement], probabilities: FloatArray, limits: Limits) -> Choice:
    """The best sentence and what is worth its place beside it. `found` holds at least one sentence."""
    order = sorted(range(len(found)), key=lambda at: -probabilities[at])
    main = found[order[0]].source
    taken: list[Statement] = []
    used = 0
    for at in order:
        statement = found[at]
        length = columns(statement.text)
        if taken and _is_filler(statement):
            continue
        if taken and probabilities[at] * 100 < limits.worth * max(length, 1):
            continue
        if (taken and used + length > limits.most_columns) or not _has_room(statement, taken, main.number, limits):
            continue
        if all(jaccard(set(statement.terms), set(s.terms)) < REDUNDANT for s in taken):
            taken.append(statement)
            used += length
    core = [s for s in taken if s.source.number == main.number]
    numbers = dict.fromkeys(s.source.number for s in taken if s.source.number != main.number)
    points = tuple(_in_order([s for s in taken if s.source.number == number]) for number in numbers)
    return Choice(_in_order(core), points)


def columns(text: str) -> int:
    """Width of a text; a CJK character takes two."""
    return sum(2 if char > "\u2e7f" else 1 for char in text)


def _is_filler(statement: Statement) -> bool:
    """A question, or a short piece without a full stop such as a title: of no use beside an answer."""
    if statement.is_item or statement.is_row:
        return False
    is_title = columns(statement.text) <= TITLE_COLUMNS and not _FULL_STOP.search(statement.text)
    return is_title or bool(_QUESTION.search(statement.text))


def _has_room(statement: Statement, taken: Sequence[Statement], main: int, limits: Limits) -> bool:
    """Whether the part of the answer that a sentence would go to takes one more."""
    number = statement.source.number
    same = sum(s.source.number == number for s in taken)
    if number == main:
        return same < limits.core_sentences
    others = {s.source.number for s in taken} - {main}
    return same < limits.point_sentences if same else len(others) < limits.supplements


def _in_order(group: Sequence[Statement]) -> tuple[Statement, ...]:
    return tuple(sorted(group, key=lambda s: s.position))
