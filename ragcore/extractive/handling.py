"""What is to be done about a thing whose row does not say it: told elsewhere by its name or code, or nowhere.

"How do I handle ALM-7" where a table lists ALM-7 with its name and severity, and another sheet, section or document
tells the handling of alarms by their names. Where none tells it, what is said of its neighbours is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ragcore.extractive.lookup_table import LookupTable, TableRows, tables_of
from ragcore.extractive.row_question import RowQuestion, plain
from ragcore.extractive.sentences import Statement
from ragcore.ports import Tokenizer
from ragcore.text.word_lists import beginnings, read_section_lines

LEAST_NAME = 3  # characters of a name; a Latin one is longer than twice that
MOST_SENTENCES = 12  # of a section that tells it
_POINTER = re.compile(r"(?:see|refer to|cf|n/a|none|tbd|详见|见|参见|参考|参照|待定|无)(?![a-z])")  # no handling itself
_HAN = re.compile(r"[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Handling:
    """What is told of a thing by its name; nothing where no source does."""

    names: tuple[str, ...]  # of the thing, its code first
    rows: TableRows | None = None
    sentences: tuple[Statement, ...] = ()

    @property
    def is_missing(self) -> bool:
        return self.rows is None and not self.sentences


def asks_handling(question: str) -> bool:
    """Whether a question asks what is to be done about something."""
    return _words("asks").search(plain(question)) is not None


def find_handling(question: str, statements: Sequence[Statement], tokenizer: Tokenizer) -> Handling | None:
    """How a thing is handled whose row a question names by code or name; None where its own row tells it.

    Also None where no row is named, or the text speaks of the thing in another way: then it may answer.
    """
    if not asks_handling(question):
        return None
    row_question = RowQuestion.of(question, tokenizer)
    tables = [LookupTable(members, tokenizer) for members in tables_of(statements)]
    entries = [(table, row) for table in tables for row in _rows_named(table, row_question)]
    telling = [(table, row) for table, row in entries if _tells(table, row)]
    if telling and telling[0][0].cells[telling[0][1]][0] not in row_question.codes:
        return Handling((), rows=_cut(telling[0][0], [row for table, row in telling if table is telling[0][0]]))
    if not entries or telling or len({table.cells[row][0] for table, row in entries}) > 1:
        return None
    if any(table.asks_column(row_question, _columns(table, "names", "heads")) for table, _row in entries):
        return None
    names = tuple(dict.fromkeys(name for table, row in entries for name in _names_of(table, row)))
    for table in tables:
        rows = [row for row in range(len(table.cells)) if _tells(table, row) and _has_name(table, row, names)]
        if rows:
            return Handling(names, rows=_cut(table, rows))
    own_rows = {id(table.members[row]) for table, row in entries}
    section = [s for s in statements if not s.is_row and _is_called(_heading_of(s), names)]
    if section:
        first = section[0]
        version, heading = first.source.passage.version, _heading_of(first)
        same = [s for s in section if _heading_of(s) == heading and s.source.passage.version == version]
        return Handling(names, sentences=tuple(same[:MOST_SENTENCES]))
    mentions = [s for s in statements if id(s) not in own_rows and _speaks_of(s, names)]
    if acts := [s for s in mentions if not s.is_row and not s.is_code and _words("acts").search(plain(s.text))]:
        return Handling(names, sentences=tuple(_with_next(acts[0], statements)))
    return None if mentions else Handling(names)


def _with_next(first: Statement, statements: Sequence[Statement]) -> list[Statement]:
    """A sentence with those behind it in its paragraph."""
    source = first.source
    behind = (s for s in statements if s.source is source and s.paragraph == first.paragraph)
    return [s for s in behind if s.position >= first.position][:MOST_SENTENCES]


def _rows_named(table: LookupTable, question: RowQuestion) -> list[int]:
    """The rows of which the question has the code or the whole name."""
    by_code = [row for row, cells in enumerate(table.cells) if not cells[0].isdigit() and cells[0] in question.codes]
    if by_code:
        return by_code
    columns = _columns(table, "things")
    return [
        row
        for row, cells in enumerate(table.cells)
        if any(_is_name(cells[at]) and question.holds(cells[at], table.heads[at]) for at in columns)
    ]


def _names_of(table: LookupTable, row: int) -> list[str]:
    """The code of a row, and what its columns of names hold."""
    cells = table.cells[row]
    return [cells[0], *(cells[at] for at in _columns(table, "names") if at and _is_name(cells[at]))]


def _columns(table: LookupTable, *sections: str) -> list[int]:
    """The columns whose heads have a word of these sections of the data file."""
    return [at for at, head in enumerate(table.heads) if any(_words(name).search(head) for name in sections)]


def _is_name(cell: str) -> bool:
    """Whether a cell names one thing among mentions: several letters, no number alone."""
    is_long = _HAN.search(cell) is not None or len(cell) > 2 * LEAST_NAME
    return is_long and len(cell) >= LEAST_NAME and any(map(str.isalpha, cell))


def _tells(table: LookupTable, row: int) -> bool:
    """Whether a row says what is to be done, in a column for it."""
    return any(
        at and _words("heads").search(head) and any(map(str.isalnum, cell)) and not _POINTER.match(cell)
        for at, (head, cell) in enumerate(zip(table.heads, table.cells[row], strict=True))
    )


def _has_name(table: LookupTable, row: int, names: Sequence[str]) -> bool:
    cells = (cell for at, cell in enumerate(table.cells[row]) if not _words("heads").search(table.heads[at]))
    return any(_holds(cell, name) for cell in cells for name in names)


def _cut(table: LookupTable, rows: Sequence[int]) -> TableRows:
    columns = [at for at, head in enumerate(table.heads) if not at or _words("heads").search(head)]
    return table.cut(rows, columns)


def _heading_of(statement: Statement) -> str:
    """The heading that a sentence stands under, in its passage or above that."""
    path = statement.source.passage.heading_path
    return statement.heading or (path[-1] if path else "")


def _is_called(heading: str, names: Sequence[str]) -> bool:
    """Whether a heading is the name or the code of the thing, perhaps among other words."""
    return any(_holds(plain(heading), name) for name in names)


def _speaks_of(statement: Statement, names: Sequence[str]) -> bool:
    """Whether a sentence or row is of the thing, by itself, its heading or the title of its document."""
    passage = statement.source.passage
    text = plain(" ".join((statement.text, statement.heading, *passage.heading_path, passage.title)))
    return any(_holds(text, name) for name in names)


def _holds(text: str, name: str) -> bool:
    if _HAN.search(name):
        return name in text
    return re.search(rf"(?<![a-z0-9-]){re.escape(name)}(?![a-z0-9-])", text) is not None


@cache
def _words(section: str) -> re.Pattern[str]:
    lines = read_section_lines("ragcore.extractive", "handling_words.txt")
    return beginnings(",".join(lines[section]))
