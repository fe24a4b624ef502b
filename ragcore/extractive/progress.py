"""Rows of a table that are not done yet: "which actions are still open", 还没完成的措施有哪几项."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ragcore.extractive.extremes import whole_words
from ragcore.extractive.lookup_table import LookupTable
from ragcore.extractive.number_columns import Selection
from ragcore.extractive.row_question import RowQuestion
from ragcore.text.word_lists import beginnings, read_section_lines


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A column of how far things are, whose cells say that they are done or not."""

    words: str  # of the question

    def choose(self, question: RowQuestion, table: LookupTable) -> Selection | None:
        """All rows whose status says that they are open, of a table where every status says one or the other."""
        for at in range(1, len(table.head)):
            if _pattern("heads").search(table.heads[at]) is None:
                continue
            cells = [row[at] for row in table.cells]
            open_rows = [row for row, cell in enumerate(cells) if _says(cell, "open cells")]
            if open_rows and all(_says(cell, "open cells") or _says(cell, "done cells") for cell in cells if cell):
                return Selection(table, tuple(open_rows), at, (True, 0, True))
        return None


def unfinished_wish(question: str) -> Unfinished | None:
    """What a question, in plain form, says of things that are not done; None where it says nothing of it."""
    match = _pattern("open").search(question)
    return Unfinished(match[0]) if match else None


def _says(cell: str, section: str) -> bool:
    """Whether a status begins with a word of the section: "in progress, 60 %"."""
    return _pattern(section).match(cell) is not None


@cache
def _pattern(section: str) -> re.Pattern[str]:
    (line,) = read_section_lines("ragcore.extractive", "progress_words.txt")[section]
    return beginnings(line) if section == "heads" else whole_words(line)
