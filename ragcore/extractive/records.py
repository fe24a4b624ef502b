"""A row of a database as a document, and lines of "label: value; label: value": the fields that a question concerns.

The connector of databases writes a row as a list of its columns, or as a template says; tables that were exported as
text look like the latter. Quoted as sentences they are a heap of fields in which the answer is one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragcore.extractive.lookup_table import LookupTable, TableRows
from ragcore.extractive.row_question import RowQuestion
from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.markdown import labelled
from ragcore.text.question_core import question_core
from ragcore.text.scripts import columns

LEAST_FIELDS = 3
LONG_VALUE = 240  # columns; a longer one is text, which is quoted by sentences
ROW_SHARE = 0.8  # of a passage's sentences that are fields, so that the passage is a row
NEAR = 6.0  # log-odds below the best sentence in which another record may be the one that is named
_FIELD = re.compile(  # "at 7:20" is none
    r"(?P<label>[^\s:：;；|。！？][^:：;；|。！？\n]{0,31}?)\s*(?:：|(?<!\d):)(?!//)\s*(?P<value>\S.*)", re.DOTALL
)
MOST_LABEL_WORDS = 4
_BREAK = re.compile(
    r"(?:(?<!\s)\s++)?+[;；|]\s*+|(?<!\s)\s++·\s++|(?:(?<!\s)\s++)?+[,，]\s*+(?=[^:：,，;；|]{1,24}[:：]\s)"
)
_ENDING = re.compile(r"(?:(?<!\s)\s++)?+[;；|。.]\s*+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The fields of one thing in their order."""

    title: str  # what the row is called; "" where only its fields tell
    labels: tuple[str, ...]
    values: tuple[str, ...]
    statements: tuple[Statement, ...]  # in which they stand
    is_row: bool  # the whole passage is this record

    @property
    def row(self) -> Statement:
        """The record as a row of a table: its title, and the fields that do not repeat it."""
        fields = [(label, value) for label, value in zip(self.labels, self.values, strict=True) if value != self.title]
        first = self.statements[0]
        head, cells = ("", *(label for label, _value in fields)), (self.title, *(value for _label, value in fields))
        return Statement(
            source=first.source, position=first.position, text=labelled(head, cells), terms=(),
            heading=first.heading, is_row=True, head=head, cells=cells,
        )  # fmt: skip


def find_record(
    question: str,
    statements: Sequence[Statement],
    scores: FloatArray,
    tokenizer: Tokenizer,
    *,
    every: Sequence[Statement],
) -> TableRows | None:
    """The fields that a question asks for, of the record that it is about; None where no record is.

    All fields of a row where it asks for none of them. `scores`: float32[n], log-odds of the statements; `every`: these
    and the others of their sources, fields that say nothing of the question by themselves.
    """
    if not statements:
        return None
    numbers = {statement.source.number for statement in statements}
    records = list(_records([statement for statement in every if statement.source.number in numbers]))
    if not records:
        return None
    score_of = {id(s): float(score) for s, score in zip(statements, scores, strict=True)}
    best = statements[int(scores.argmax())]
    if not any(best is s for record in records for s in record.statements):
        return None
    row_question = RowQuestion.of(question_core(question), tokenizer)
    rated = [(max(score_of.get(id(s), -math.inf) for s in record.statements), record) for record in records]
    near = [(score, record) for score, record in rated if score >= score_of[id(best)] - NEAR]
    _known, _score, chosen = max(
        ((_known_words(record, row_question, tokenizer), score, record) for score, record in near),
        key=lambda candidate: candidate[:2],
    )
    table = LookupTable([chosen.row], tokenizer)
    asks_field = table.asks_column(row_question)
    if not asks_field and (not chosen.is_row or _is_text(best, chosen)):
        return None
    return table.shown([0], row_question)


def _known_words(record: Record, question: RowQuestion, tokenizer: Tokenizer) -> int:
    names = " ".join((record.statements[0].source.passage.title, record.title, *record.labels, *record.values))
    words, plain = set(tokenizer.words(names)), names.lower()
    return sum(word in words or (not word.isascii() and word in plain) for word in question.words)


def _is_text(best: Statement, record: Record) -> bool:
    """Whether the best sentence stands in a field that holds text."""
    return not any(value in best.text or best.text in value for value in record.values)


def _records(statements: Sequence[Statement]) -> Iterator[Record]:
    """The records of all sources: runs of fields that stand one behind the other, and lines that hold several."""
    by_source: dict[int, list[Statement]] = {}
    for statement in statements:
        by_source.setdefault(statement.source.number, []).append(statement)
    for members in by_source.values():
        for run in _runs(members):
            is_row = sum(map(len, run)) >= ROW_SHARE * len(members)
            if len(run) >= LEAST_FIELDS and (is_row or not run[0][0].is_item):
                yield from _record(run, is_row=is_row)
        for statement in members:
            if (fields := _fields_of(statement)) is not None:
                yield _made(fields, (statement,), is_row=len(members) == 1)


def _runs(members: Sequence[Statement]) -> Iterator[list[list[Statement]]]:
    """Neighbouring fields, each with the sentences that go on with it."""
    run: list[list[Statement]] = []
    for statement in members:
        is_field = not (statement.is_row or statement.is_code) and _field(statement.text) is not None
        last = run[-1][-1] if run else None
        is_next = last is not None and last.position + 1 == statement.position and last.heading == statement.heading
        if is_next and statement.continues and last is not None and last.is_item and not statement.is_item:
            run[-1].append(statement)
        elif is_field and (not run or is_next):
            run.append([statement])
        else:
            yield run
            run = [[statement]] if is_field else []
    yield run


def _record(run: Sequence[Sequence[Statement]], *, is_row: bool) -> Iterator[Record]:
    fields = [
        (match["label"], " ".join([match["value"], *(s.text for s in field[1:])]))
        for field in run
        if (match := _field(field[0].text)) is not None
    ]
    is_list = all(field[0].is_item for field in run)
    is_heap = all(field[0].text.endswith((";", "；")) for field in run[:-1])
    has_lines = is_row and not any(field[0].continues for field in run)
    if is_list or is_heap or has_lines:
        yield _made(fields, tuple(s for field in run for s in field), is_row=is_row)


def _made(fields: Sequence[tuple[str, str]], statements: tuple[Statement, ...], *, is_row: bool) -> Record:
    first = statements[0]
    short_fields = [(label, _ENDING.sub("", value)) for label, value in fields]
    short_fields = [(label, value) for label, value in short_fields if columns(value) <= LONG_VALUE]
    bare_values = [value for label, value in short_fields if not label]
    title = bare_values[0] if bare_values else (first.heading or first.source.passage.title) if is_row else ""
    labelled_fields = [(label, value) for label, value in short_fields if label]
    return Record(
        title=title,
        labels=tuple(label.replace("_", " ") for label, _value in labelled_fields),
        values=tuple(value for _label, value in labelled_fields),
        statements=statements,
        is_row=is_row,
    )


def _field(text: str) -> re.Match[str] | None:
    match = _FIELD.fullmatch(text)
    return match if match is not None and len(match["label"].split()) <= MOST_LABEL_WORDS else None


def _fields_of(statement: Statement) -> list[tuple[str, str]] | None:
    """The fields of one line; its first part may name the thing without a label. None where it is ordinary text."""
    if statement.is_row or statement.is_code:
        return None
    parts = [part for part in _BREAK.split(statement.text) if part]
    fields = [_field(part) for part in parts]
    if sum(match is not None for match in fields) < LEAST_FIELDS or not all(fields[1:]):
        return None
    first = [] if fields[0] is not None else [("", parts[0])]
    return [*first, *((match["label"], match["value"]) for match in fields if match is not None)]
