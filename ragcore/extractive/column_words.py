"""What the columns of a table are called, and the words of questions that mean them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ragcore.extractive.row_question import codes_of, plain
from ragcore.extractive.sentences import Statement
from ragcore.text.scripts import CJK
from ragcore.text.word_lists import beginnings, read_lines

LEGEND_LETTERS = 2  # of an explained column
_BETWEEN = re.compile(r"[,，、;；/+()（）]")
_EXPLAINED = re.compile(r"(?P<label>[^\s。；;.:：(（，,][^。；;.:：(（，,]{1,24})[:：(（]\s?(?P<listed>[^。;；.]+)")
_HAN = re.compile(rf"[{CJK}]")


@dataclass(frozen=True, slots=True)
class Legend:
    """What a sentence lists of a column: "Class A: Oslo, Rome" of the column "Class A cities"."""

    listed: str  # in plain form
    statement: Statement

    def names(self, words: Sequence[str]) -> bool:
        """Whether it lists one of the words."""
        return any(word in self.listed for word in words)


def coded_names(head: str) -> list[frozenset[str]]:
    """The codes of each name of a column: one of "A 型 / C 型" and "class A" each has one."""
    return [codes for part in _BETWEEN.split(head) if (codes := frozenset(codes_of(part)))]


def legends_of(heads: Sequence[str], statements: Sequence[Statement]) -> dict[int, Legend]:
    """What sentences list of columns, by the place of the column. `heads`: in plain form."""
    legends: dict[int, Legend] = {}
    if not any(len(head) >= LEGEND_LETTERS for head in heads[1:]):
        return {}
    for statement in statements:
        for match in _EXPLAINED.finditer(plain(statement.text)):
            for at, head in enumerate(heads[1:], start=1):
                if at not in legends and _is_called(head, match["label"].strip()):
                    legends[at] = Legend(match["listed"], statement)
    return legends


def _is_called(head: str, label: str) -> bool:
    """Whether a label names a column: its whole name, or the beginning of it that tells it apart: "class 1" cities."""
    if len(label) < LEGEND_LETTERS or not head.startswith(label):
        return False
    rest = head[len(label) :]
    return not rest or (_HAN.search(label) is not None or (rest[0] == " " and bool(coded_names(label))))


def is_asked_by_group(question: str, head: str) -> bool:
    """Whether the question has a word for what a column with this head holds."""
    return any(asking.search(question) and heads.search(head) for asking, heads in _column_groups())


@cache
def _column_groups() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Of each line of the data file the words of questions and those of heads."""
    lines = (line.split("|") for line in read_lines("ragcore.extractive", "column_words.txt"))
    return tuple((beginnings(asking), beginnings(heads)) for asking, heads in lines)
