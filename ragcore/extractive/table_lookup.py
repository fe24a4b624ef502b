"""Rows of a table that answer a question, with the columns that it asks for.

A question names a row by what its cells say ("SC-210", "ALM-7", "held in Oslo") and a column by its head or by a word
for what is asked ("how much": price). One row is looked up, or several where it joins them ("weight and size"); where a
list or a number is asked for, all rows of which a cell says what the question names are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragcore.extractive.banded_rows import find_covering_rows
from ragcore.extractive.column_words import code_names
from ragcore.extractive.lookup_table import LookupTable, TableRows, tables_of
from ragcore.extractive.quantities import gives_quantity
from ragcore.extractive.row_question import RowQuestion, asks_count, asks_part, asks_rows, counted_thing, total_of
from ragcore.extractive.row_selection import asks_selection, select_rows
from ragcore.extractive.sentences import Statement
from ragcore.ports import Tokenizer
from ragcore.text.question_core import question_core
from ragcore.text.question_type import wanted

MOST_ROWS = 20  # of a kind
FIRST_ROWS = 5  # of a longer table that is counted


def find_rows_of_kind(
    question: str,
    statements: Sequence[Statement],
    tokenizer: Tokenizer,
    *,
    whole: frozenset[int] = frozenset(),
    across: bool = False,
) -> TableRows | None:
    """All rows of the first table that has some of the kind that a question wants listed or counted; else None.

    `whole`: versions of documents that are all there; only of these the number of rows is told. `across`: see
    select_rows.
    """
    if not wants_rows(question):
        return None
    row_question = RowQuestion.of(question, tokenizer)
    tables_ = [LookupTable(members, tokenizer) for members in tables_of(statements)]
    chosen = select_rows(row_question, tables_, tokenizer=tokenizer, across=across, statements=statements)
    if chosen is not None:
        answer = chosen.table.with_columns(chosen.rows[:MOST_ROWS], (chosen.column, *chosen.beside))
        if chosen.stated is not None:
            answer = replace(answer, stated=(chosen.stated.text, chosen.stated.source.number))
        return _counted(question, answer, chosen.table, len(chosen.rows), whole)
    if not asks_rows(question):
        return None
    if asks_count(question):  # two parts of the P10 are not two of its alarms
        thing = frozenset(tokenizer.words(counted_thing(question)))
        tables_ = [table for table in tables_ if (table.is_of(thing) if thing else table.common_words(row_question))]
    names = {code: name for table in tables_ for code, name in code_names(table.cells).items()}
    kinds = [(table, rows) for table in tables_ if 0 < len(rows := table.of_kind(row_question, names)) <= MOST_ROWS]
    if any(not code_names(table.cells) for table, _rows in kinds):  # what is of a code, not what explains it
        kinds = [(table, rows) for table, rows in kinds if not code_names(table.cells)]
    if not kinds and asks_count(question):
        kinds = [(table, rows) for table in tables_ if (rows := table.all_counted(row_question))]
    if not kinds and wanted(question) not in ("number", "time"):
        kinds = [(table, rows) for table in tables_ if 0 < len(rows := table.all_asked(row_question)) <= MOST_ROWS]
    if not kinds:
        return None
    table, rows = _likeliest(kinds, row_question)
    if asks_count(question) and (number_cells := table.given_number(row_question, rows)):
        return number_cells
    answer = table.shown(rows[:FIRST_ROWS] if len(rows) > MOST_ROWS else rows, row_question)
    return _counted(question, answer, table, len(rows), whole)


def listed_rows(
    question: str,
    statements: Sequence[Statement],
    every: Sequence[Statement],
    tokenizer: Tokenizer,
    *,
    whole: frozenset[int],
) -> TableRows | None:
    """All rows that a question wants listed or counted; None where it wants something else.

    From all passages (`every`) of the documents that the question is about: a table goes on in passages that do not
    name what it is about.
    """
    versions = list(dict.fromkeys(statement.source.passage.version for statement in statements))
    listed = [statement for version in versions for statement in every if statement.source.passage.version == version]
    rows = find_rows_of_kind(question_core(question), listed, tokenizer, whole=whole, across=True)
    is_said = gives_quantity(question, statements).any()  # "at most 8": nothing is counted
    return None if is_said else rows


def _likeliest(kinds: Sequence[tuple[LookupTable, list[int]]], question: RowQuestion) -> tuple[LookupTable, list[int]]:
    """The table with most words of the question; of several the first one of the document that the search put first."""
    most = max(table.common_words(question) for table, _rows in kinds)
    like = [(table, rows) for table, rows in kinds if table.common_words(question) == most]
    version = like[0][0].members[0].source.passage.version
    of_version = [(table, rows) for table, rows in like if table.members[0].source.passage.version == version]
    return min(of_version, key=lambda candidate: candidate[0].members[0].source.passage.ordinal)


def wants_rows(question: str) -> bool:
    """Whether a question wants rows of a table: all of a kind, or those that are chosen by what a column holds."""
    return asks_rows(question) or asks_selection(question)


def _counted(question: str, answer: TableRows, table: LookupTable, number: int, whole: frozenset[int]) -> TableRows:
    """The shown ones of so many rows, with how many there are where the question asks for it and the table is whole."""
    answer = replace(answer, omitted=number - len(answer.rows))
    if table.members[0].source.passage.version not in whole:
        return answer
    every = total_of(question, len(table.members)) if asks_part(question) and number < len(table.members) else ""
    return replace(answer, total=total_of(question, number), every=every)


def answers_by_rows(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> bool:
    """Whether a table surely answers: it has rows of the kind that is asked for, or the named row and its column."""
    if find_rows_of_kind(question, statements, tokenizer) is not None:
        return True
    if find_covering_rows(question, statements, tokenizer) is not None:
        return True
    row_question = RowQuestion.of(question, tokenizer)
    return any(
        LookupTable(members, tokenizer, statements).holds_cell(row_question) for members in tables_of(statements)
    )


def find_coded_row(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> TableRows | None:
    """The row of the question's code or amount, in the columns that it asks for; None without one.

    "What do I do about ALM-7" is answered by the steps in that row, not by those of the best section. Where more is
    asked than that, the row alone would be half of an answer.
    """
    row_question = RowQuestion.of(question, tokenizer)
    if not row_question.codes or row_question.is_joined or row_question.parts > 1:
        return None
    for members in tables_of(statements):
        table = LookupTable(members, tokenizer, statements)
        if table.holds_cell(row_question):
            return table.shown(table.named(row_question), row_question)
    return None


def find_named_rows(
    question: str, best: Statement, statements: Sequence[Statement], tokenizer: Tokenizer
) -> TableRows | None:
    """The rows of the best row's table that the question names; None where none stands out, or none has the number."""
    members = next((members for members in tables_of(statements) if best in members), None)
    if members is None:
        return None
    row_question, table = RowQuestion.of(question, tokenizer), LookupTable(members, tokenizer, statements)
    rows = (table.joined(row_question) if row_question.is_joined else []) or table.named(row_question)
    rows = rows or table.alike(row_question)
    if not rows:
        return None
    cells = table.shown(rows, row_question)
    has_number = any(map(str.isdigit, "".join(cell for row, _source in cells.rows for cell in row[1:])))
    return None if asks_count(question) and not has_number else cells


def find_named_cell(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> TableRows | None:
    """The row and the column that have every word of the question between them, and the title; None without one.

    Or the property that is asked for of the model that is named, in a table of models side by side.
    """
    row_question = RowQuestion.of(question, tokenizer)
    tables_ = [LookupTable(members, tokenizer) for members in tables_of(statements)]
    cells = [
        *(table.named_cell(row_question) for table in tables_),
        *(table.coded_cell(row_question) for table in tables_),
    ]
    return next((cell for cell in cells if cell is not None), None)
