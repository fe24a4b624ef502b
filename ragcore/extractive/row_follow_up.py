"""A follow-up about the row of a table that the answer before told: "why did it move", 付款条件呢.

The answer shows the row in one or two of its columns; the follow-up asks for another one of it, and names no thing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ragcore.extractive.column_words import without_asking_words
from ragcore.extractive.lookup_table import LookupTable, tables_of
from ragcore.extractive.row_question import RowQuestion, codes_of, plain
from ragcore.extractive.sentences import Statement
from ragcore.ports import Tokenizer
from ragcore.text.codes import capital_names
from ragcore.text.normalise import nfkc
from ragcore.text.question_core import question_core
from ragcore.text.scripts import language_of
from ragcore.text.tokenise import stop_words
from ragcore.text.word_lists import read_section_lines

NAME_CHARACTERS = 16  # of a cell that may name a row
NAMING_COLUMNS = 2  # the first ones, whose cells name a row
MOST_OTHER = 1  # words of a follow-up that neither row nor head has; one more where it refers to something
MOST_HEADS = 2
_MARKER = re.compile(r"\s?\[\d+\]")
_ROW = re.compile(r"(?P<key>[^·|:：\n]{1,60}) · (?P<cells>[^·:：\n]{1,40}[:：][^\n]*)")
_CELL = re.compile(r"[^·:：\n]{1,40}[:：]\s?")
_PRONOUN = frozenset({"i"})  # a single letter is a code, and so is "I"
_DIGIT = re.compile(r"\d")


def question_of_row(question: str, answer: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> str:
    """The question for the asked columns of the row that an answer told; "" where it told none or several.

    Also "" where the question names something that is not in the row, or asks for none of its columns.
    """
    core = question_core(question)
    if (row := _row_of_answer(answer, statements)) is None:
        return ""
    members, at, shown_columns = row
    table, row_question = LookupTable(members, tokenizer), RowQuestion.of(core, tokenizer)
    if _names_another(core, row_question, table, at):
        return ""
    columns = _former(core, table, at, shown_columns)
    if not columns:
        columns = [column for column in sorted(table.columns_asked(row_question)) if table.cells[at][column]]
        other_words = _other_words(core, table, at, columns, tokenizer)
        if len(other_words) > MOST_OTHER + _has(core, "refers"):
            return ""
    if not 0 < len(columns) <= MOST_HEADS:
        return ""
    key, heads = _name(table, at), [table.head[column] for column in columns]
    if language_of(question) == "zh":
        return f"{key}的{'和'.join(heads)}是什么"
    return f"what is the {' and the '.join(heads)} of {key}?"


def _name(table: LookupTable, at: int) -> str:
    """What a row is called: its first cell, with the first other one that tells it from rows of the same name."""
    same = [row for row in range(len(table.cells)) if row != at and table.cells[row][0] == table.cells[at][0]]
    other_columns = (
        column
        for column in range(1, len(table.head))
        if same and table.cells[at][column] not in {"", *(table.cells[row][column] for row in same)}
    )
    column = next(other_columns, None)
    cells = table.members[at].cells
    return cells[0] if column is None else f"{cells[0]} {cells[column]}"


def _row_of_answer(answer: str, statements: Sequence[Statement]) -> tuple[list[Statement], int, frozenset[int]] | None:
    """The rows of the table, the place of the told one in the order of the table, and its shown columns."""
    lines = [line for line in _MARKER.sub("", answer).split("\n") if line.strip()]
    matches = [match for line in lines if (match := _ROW.fullmatch(line.strip(" *\\")))]
    if len(matches) != 1 or matches[0].group() not in lines[0]:
        return None
    key, cells = plain(matches[0]["key"].strip(" *")), matches[0]["cells"].split(" · ")
    values = {plain(_CELL.sub("", cell, count=1)) for cell in cells}
    hits = []
    for members in tables_of(statements):
        ordered = sorted(members, key=lambda s: (s.source.passage.ordinal, s.position))
        for at, member in enumerate(ordered):
            row = [plain(cell) for cell in member.cells]
            if row[0] == key and values <= set(row):
                hits.append((ordered, at, frozenset(c for c in range(1, len(row)) if row[c] in values)))
    return hits[0] if len(hits) == 1 else None


def _names_another(question: str, row_question: RowQuestion, table: LookupTable, at: int) -> bool:
    """Whether a question names a thing that is not in this row: another code, name or row."""
    row_words = " ".join((*table.cells[at], *table.heads))
    if not row_question.codes - _PRONOUN <= frozenset(codes_of(row_words)) | table.about:
        return True
    if any(name.lower() not in row_words for name in capital_names(nfkc(question))):
        return True
    names = {cell for row in table.cells for cell in row[:NAMING_COLUMNS] if 0 < len(cell) <= NAME_CHARACTERS}
    return any(row_question.holds(name) for name in names if name not in row_words)


def _former(question: str, table: LookupTable, at: int, shown_columns: frozenset[int]) -> list[int]:
    """The one other column with a value like the shown one, where the former value is asked for; else []."""
    if not _has(question, "former"):
        return []
    row = table.cells[at]
    forms = {_form(row[column]) for column in shown_columns if _DIGIT.search(row[column])}
    alike = [column for column in range(1, len(row)) if column not in shown_columns and _form(row[column]) in forms]
    return alike if len(alike) == 1 else []


def _form(cell: str) -> str:
    return _DIGIT.sub("0", cell)


def _other_words(question: str, table: LookupTable, at: int, columns: Sequence[int], tokenizer: Tokenizer) -> set[str]:
    """Content words of a question that say neither its column nor anything of the row."""
    text = without_asking_words(plain(question), [table.heads[column] for column in columns])
    known_words = table.words[at] | table.about | frozenset().union(*table.head_words) | stop_words()
    names = " ".join((*table.heads, *table.cells[at]))
    words = {word for word in RowQuestion.of(text, tokenizer).words if word not in known_words and word not in names}
    return {
        word
        for word in words
        if not any(word in entry for entry in _words("refers") | _words("former") | _words("passed"))
    }


def _has(question: str, section: str) -> bool:
    text = plain(question)
    words = set(re.findall(r"[a-z]+", text))
    return any(word in text if not word.isascii() or " " in word else word in words for word in _words(section))


@cache
def _words(section: str) -> frozenset[str]:
    return frozenset(read_section_lines("ragcore.extractive", "row_follow_up_words.txt")[section])
