"""Rows whose number lies above, below, within or outside a target: "sites with a drop rate above target", 未达标的站点.

The target stands in a column of its own, in a row of the table, in a table of targets, or in a sentence.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ragcore.extractive.cell_numbers import Measure, measures_in
from ragcore.extractive.lookup_table import LookupTable
from ragcore.extractive.number_columns import Selection, kind_of, number_columns
from ragcore.extractive.property_names import NamedColumn, Side, column_name, named_column, properties_in
from ragcore.extractive.row_question import RowQuestion, plain
from ragcore.extractive.sentences import Statement
from ragcore.text.word_lists import cue_pattern, longest_first, read_sections

MOST_BETWEEN = 32  # characters between the comparison and the word for the target: "exceed their maximum packet loss"
LEAST_ROWS = 2  # of a table of targets or of things
Compared = Literal["above", "below", "at most", "at least", "meets", "misses"]
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "above": operator.gt,
    "below": operator.lt,
    "at most": operator.le,
    "at least": operator.ge,
}
_MEETS: dict[Side, Compared] = {"high": "at least", "low": "at most"}
_MISSES: dict[Side, Compared] = {"high": "below", "low": "above"}
_CLAUSE = re.compile(r"[,，;；。]\s*|\.\s+|\band\b")


@dataclass(frozen=True, slots=True)
class TargetWish:
    """What a question wants to be compared with a target."""

    words: str  # of the question, for comparison and target
    compared: Compared

    def compare(self, good: Side) -> Callable[[float, float], bool] | None:
        """The comparison for a column of which this side is good; None where that is not known."""
        way: str | None = self.compared
        if self.compared in ("meets", "misses"):
            way = (_MEETS if self.compared == "meets" else _MISSES).get(good)
        return _COMPARE[way] if way is not None else None


@dataclass(frozen=True, slots=True)
class _Target:
    """What each row is compared with, and where that stands."""

    values: Sequence[Measure | None]  # one for each row
    column: int | None = None
    row: int | None = None
    stated: Statement | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A condition against a target that stands in the table or in one of the statements."""

    wish: TargetWish
    statements: Sequence[Statement]

    @property
    def words(self) -> str:
        return self.wish.words

    def choose(self, question: RowQuestion, table: LookupTable) -> Selection | None:
        """All rows of which the number that is named lies so; None where no target is told for it."""
        columns = [
            (column, values)
            for at, values in number_columns(table)
            if not is_target_name(table.heads[at])
            and (column := named_column(question, table, at, question.text)) is not None
        ]
        for column, values in sorted(columns, key=lambda pair: pair[0].fit, reverse=True):
            compare = self.wish.compare(column.good)
            target = _target_of(table, column, values, self.statements) if compare is not None else None
            if compare is None or target is None:
                continue
            rows = tuple(
                row
                for row in table.with_values(question, self.words)
                if row != target.row
                and (value := values[row]) is not None
                and (limit := target.values[row]) is not None
                and compare(value.value, limit.value)
            )
            beside = (target.column,) if target.column is not None else ()
            return (
                Selection(table, rows, column.column, (True, 1, True), beside=beside, stated=target.stated)
                if rows
                else None
            )
        return None


def target_wish(question: str) -> TargetWish | None:
    """What a question, in plain form, wants compared with a target; None where it does not."""
    for name in ("misses alone", "above alone", "meets alone"):
        if match := _words(name).search(question):
            return TargetWish(match[0], _side(name.removesuffix(" alone")))
    comparison = _comparisons().search(question)
    if comparison is None:
        return None
    for target in _words("target", "bound").finditer(question):
        gap = max(target.start() - comparison.end(), comparison.start() - target.end())
        if 0 <= gap <= MOST_BETWEEN:
            return TargetWish(f"{comparison[0]} {target[0]}", _side(_sides_of_words()[comparison[0]]))
    return None


def is_target_name(head: str) -> bool:
    """Whether a column holds targets. `head`: in lower case."""
    return _words("target").search(head) is not None


def lacks_target(question: RowQuestion, tables: Sequence[LookupTable], statements: Sequence[Statement]) -> bool:
    """Whether a question compares a column with a target that nothing tells."""
    wish = target_wish(question.text)
    if wish is None:
        return False
    columns = [
        (table, column, values)
        for table in tables
        for at, values in number_columns(table)
        if not is_target_name(table.heads[at])
        and (column := named_column(question, table, at, question.text)) is not None
        and column.fit[0]
    ]
    return bool(columns) and all(
        _target_of(table, column, values, statements) is None for table, column, values in columns
    )


def _target_of(
    table: LookupTable, column: NamedColumn, values: Sequence[Measure | None], statements: Sequence[Statement]
) -> _Target | None:
    """Where the target of a column stands, the nearest first."""
    if (target := _target_column(table, column)) is not None:
        return target
    for row, cells in enumerate(table.cells):
        if is_target_name(cells[0]) and values[row] is not None:
            return _Target([values[row]] * len(values), row=row)
    kind = kind_of(values)
    version = table.members[0].source.passage.version
    ordered = sorted(statements, key=lambda statement: statement.source.passage.version != version)
    for statement in ordered:
        for limit in _stated(statement, table.heads[column.column]):
            if limit.is_like(Measure(0, kind)):
                return _Target([limit] * len(values), stated=statement)
    return None


def _target_column(table: LookupTable, column: NamedColumn) -> _Target | None:
    """The column of targets of the same property, else the only one that names no property."""
    name = column_name(table.heads[column.column])
    bare: list[_Target] = []
    for at, values in number_columns(table):
        head = table.heads[at]
        rest = _words("target", "bound").sub(" ", column_name(head)).strip()
        if at == column.column or (not is_target_name(head) and not _words("bound").search(head)):
            continue
        if rest and _is_same(rest, name):
            return _Target(values, column=at)
        if not rest:
            bare.append(_Target(values, column=at))
    return bare[0] if len(bare) == 1 else None


def _is_same(first: str, second: str) -> bool:
    """Whether two names of columns mean one property."""
    if first in second or second in first:
        return True
    names = [entry.names.pattern for entry in properties_in(second)]
    return any(entry.names.pattern in names for entry in properties_in(first))


def _stated(statement: Statement, head: str) -> Iterator[Measure]:
    """The targets of a column that a sentence or a row of another table tells, clause by clause."""
    name = column_name(head)
    if statement.head:
        if _is_same(plain(statement.cells[0]), name):
            for cell_head, cell in zip(statement.head[1:], statement.cells[1:], strict=True):
                if is_target_name(plain(cell_head)):
                    yield from _only(cell)
        return
    if statement.is_code:
        return
    for part in (*_CLAUSE.split(statement.text), statement.text):
        text = plain(part)
        if is_target_name(text) and any(_is_same(entry, name) for entry in _names_in(text, name)):
            yield from _only(part)


def _names_in(text: str, name: str) -> list[str]:
    """Names of properties that a clause has, and the name of the column itself where it has that."""
    properties = [match[0] for entry in properties_in(text) if (match := entry.names.search(text))]
    return [*properties, *([name] if name in text else [])]


def _only(text: str) -> Iterator[Measure]:
    measures = [place.measure for place in measures_in(text)]
    if len(measures) == 1:
        yield measures[0]


def _side(name: str) -> Compared:
    for side in ("above", "below", "at most", "at least", "meets", "misses"):
        if name == side:
            return side
    raise ValueError(name)


@cache
def _comparisons() -> re.Pattern[str]:
    return cue_pattern(_sides_of_words())


@cache
def _sides_of_words() -> dict[str, str]:
    """Word -> its side."""
    sections = read_sections("ragcore.extractive", "target_words.txt")
    return {word: name for name in (*_COMPARE, "meets", "misses") for word in sections[name]}


@cache
def _words(*names: str) -> re.Pattern[str]:
    sections = read_sections("ragcore.extractive", "target_words.txt")
    return cue_pattern(longest_first(word for name in names for word in sections[name]))
