"""All things of a kind with a property of each: "which pumps are there and what do they weigh", 有哪些水泵，各自多重.

A table is of the kind where a column of kinds or the codes in its first column say so, or else its title. Rows that
only mention the kind, a cable for the pump, are of another one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ragcore.extractive.column_groups import is_asked_by_group
from ragcore.extractive.lookup_table import LookupTable, TableRows
from ragcore.extractive.property_names import named_column
from ragcore.extractive.row_question import RowQuestion, asks_rows
from ragcore.extractive.row_selection import asks_selection
from ragcore.extractive.sentences import Statement
from ragcore.extractive.table_lookup import MOST_ROWS, tables_of
from ragcore.ports import Tokenizer
from ragcore.text.across_words import across_words
from ragcore.text.glossary import glossary_of
from ragcore.text.scripts import language_of
from ragcore.text.word_lists import beginnings, read_section_lines

_OFFERED = re.compile(r"\b(?:is|are) (?:available|offered)\b")
LEAST_FAMILY = 2  # letters of the name of a family of codes: RRU of RRU-40
LEAST_MEANT = 0.5  # share of a word's meanings that a title in the other language says
MOST_TABLES = 3
LEAST_SAME = 0.5  # share of its rows that another table has, so that it tells of the same things


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A table with the property that is asked for, and its rows of the kind."""

    table: LookupTable
    rows: tuple[int, ...]
    columns: tuple[int, ...]  # with the property
    rank: tuple[int, int, bool]  # by kind before by title, words of the title, in the language of the question


def find_property_lists(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> list[TableRows]:
    """The rows of the kind with the asked property, of each table that lists some; [] where it asks for no such."""
    if not asks_property_list(question):
        return []
    row_question = RowQuestion.of(question, tokenizer)
    if any(map(str.isdigit, "".join(row_question.codes))):
        return []  # of one thing
    tables = [LookupTable(members, tokenizer) for members in _tables(statements)]
    candidates = [c for table in tables if (c := _candidate(table, row_question, tokenizer)) is not None]
    if not candidates:
        return []
    best = max(candidate.rank for candidate in candidates)
    if not best[0]:  # by title: one table alone
        candidates = [next(candidate for candidate in candidates if candidate.rank == best)]
    chosen: list[_Candidate] = []
    for candidate in sorted((c for c in candidates if c.rank[0] == best[0]), key=lambda c: not c.rank[2]):
        if not any(_is_same(candidate, other) for other in chosen):
            chosen.append(candidate)
    if sum(len(candidate.rows) for candidate in chosen) > MOST_ROWS:
        return []
    return [c.table.cut(c.rows, sorted({0, *c.columns})) for c in chosen[:MOST_TABLES]]


def asks_property_list(question: str) -> bool:
    """Whether a question wants things listed with something of each of them, and does not choose among them."""
    text = question.lower()
    lists = asks_rows(text) or _words("lists").search(text) is not None
    chooses = asks_selection(_OFFERED.sub(" ", text))
    return lists and _words("each").search(text) is not None and not chooses


def _tables(statements: Sequence[Statement]) -> list[list[Statement]]:
    """The rows of each table; tables of several sections with the same columns apart."""
    groups: dict[tuple[int, str], list[Statement]] = {}
    for at, members in enumerate(tables_of(statements)):
        for statement in members:
            path = statement.source.passage.heading_path
            groups.setdefault((at, statement.heading or (path[-1] if path else "")), []).append(statement)
    return list(groups.values())


def _candidate(table: LookupTable, question: RowQuestion, tokenizer: Tokenizer) -> _Candidate | None:
    kinds = {at for at, head in enumerate(table.heads) if _words("kinds").search(head)}
    columns = [
        at
        for at in range(1, len(table.head))
        if at not in kinds
        and (
            is_asked_by_group(question.text, table.heads[at])
            or named_column(question, table, at, question.text) is not None
        )
    ]
    if not columns:
        return None
    is_own = language_of(question.text) == language_of(" ".join(table.head))
    rows = _rows_of_kind(table, kinds, question)
    if rows:
        narrower = [row for row in table.of_kind(question) if row in rows]
        return _Candidate(table, tuple(narrower or rows), tuple(columns), (1, 0, is_own))
    if table.of_kind(question):
        return None  # some of its rows are named otherwise
    matches = _words_of_title(table, columns, question, tokenizer, is_own=is_own)
    return _Candidate(table, tuple(range(len(table.cells))), tuple(columns), (0, matches, is_own)) if matches else None


def _rows_of_kind(table: LookupTable, kinds: set[int], question: RowQuestion) -> list[int]:
    """The rows whose kind, or the letters before the number of whose code, the question names."""
    families = {w.removesuffix("s") for w in question.words if w.isascii() and w.isalpha()}
    families = {w for w in families if len(w) >= LEAST_FAMILY}
    pattern = re.compile(rf"(?:{'|'.join(map(re.escape, families)) or '(?!)'})[-_\s]?\d")
    return [
        row
        for row, cells in enumerate(table.cells)
        if pattern.match(cells[0])
        or any(
            cells[at] in question.words
            or any(question.holds(kind, table.heads[at]) for kind in (cells[at], f"{cells[at]}s"))
            for at in kinds
            if cells[at]
        )
    ]


def _words_of_title(
    table: LookupTable, columns: Sequence[int], question: RowQuestion, tokenizer: Tokenizer, *, is_own: bool
) -> int:
    """How many words of the question, besides those for the property, the title of a table or its first head has."""
    names = table.about | table.head_words[0]
    of_columns = frozenset[str]().union(*(table.head_words[at] for at in columns))
    words = [w for w in question.words - of_columns if not _words("generic").fullmatch(w)]
    matches = {w for w in words if w in names or (not w.isascii() and len(w) > 1 and w in table.title)}
    if not is_own and (glossary := glossary_of(tokenizer)) is not None:
        across = across_words(question.text, tokenizer, glossary)
        title = f"{table.title} {table.heads[0]}"
        matches |= {word.text for word in across if word.share_in(title, names) >= LEAST_MEANT}
    return len(matches)


def _is_same(candidate: _Candidate, other: _Candidate) -> bool:
    """Whether two tables tell of the same things."""
    names = {other.table.cells[row][0] for row in other.rows}
    return sum(candidate.table.cells[row][0] in names for row in candidate.rows) >= LEAST_SAME * len(candidate.rows)


@cache
def _words(section: str) -> re.Pattern[str]:
    return beginnings(",".join(read_section_lines("ragcore.extractive", "property_list_words.txt")[section]))
