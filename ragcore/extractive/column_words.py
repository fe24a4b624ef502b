"""What the columns of a table are called, and the words of questions that mean them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from ragcore.extractive.row_question import codes_of, plain
from ragcore.extractive.sentences import Statement
from ragcore.text.amount_ranges import Amount, covers, ranges_in
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words
from ragcore.text.word_lists import beginnings, read_lines

CODE_LETTERS = 3  # of a code that another table explains
LEAST_RANGES = 2  # columns that are called after ranges
LEGEND_LETTERS = 2  # of an explained column
_NUMBER_BEHIND = re.compile(r"(?<=[^\W\d])\s?#?\d{1,3}\Z")
_BETWEEN = re.compile(r"[,，、;；/+()（）]")
_EXPLAINED = re.compile(r"(?P<label>[^\s。；;.:：(（，,][^。；;.:：(（，,]{1,24})[:：(（]\s?(?P<listed>[^。;；.]+)")
_ASKING = re.compile(
    r"多少|多久|[几幾哪][个個天级級种種些]?|什么|什麼|怎么|怎麼|[谁誰]|需要|可以|能不能|[吗嗎呢的了我]"
)
_HAN_RUN = re.compile(rf"[{CJK}]+")
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


def joined_names(value: str) -> list[str]:
    """The names that a cell joins, in their order."""
    return [part.strip() for part in _BETWEEN.split(value)]


def parts_of(value: str) -> frozenset[str]:
    """The names that a cell joins, those with a number also without it: 暗室 of "暗室 2 + 信号源"."""
    parts = joined_names(value)
    return frozenset((*parts, *(_NUMBER_BEHIND.sub("", part) for part in parts)))


def row_codes(cells: Sequence[str]) -> frozenset[str]:
    """The codes of a row; that of its name also without what stands before it: C1-EU of FH-C1-EU."""
    codes = frozenset(codes_of(" ".join(cells)))
    parts = plain(cells[0]).split("-")
    shorter = ("-".join(parts[at:]) for at in range(1, len(parts) - 1))
    return codes | {code for code in shorter if any(map(str.isdigit, code)) and not code.isdigit()}


def ranged_columns(heads: Sequence[str]) -> frozenset[int]:
    """Columns behind the first one that are called after ranges of amounts: prices by quantity; none of only one."""
    ranged = frozenset(at for at, head in enumerate(heads) if at and any(True for _range in ranges_in(head)))
    return ranged if len(ranged) >= LEAST_RANGES else frozenset()


def columns_holding(heads: Sequence[str], ranged: Collection[int], amounts: Iterable[Amount]) -> set[int]:
    """The only column of these whose range holds one of the amounts."""
    holding = {at for amount in amounts for at in ranged if covers(heads[at], amount)}
    return holding if len(holding) == 1 else set()


def code_names(cells: Sequence[Sequence[str]]) -> dict[str, str]:
    """What the codes of a table's first column are called, where it explains codes of few letters: F is 致命."""
    rows = [row for row in cells if len(row) > 1 and row[0] and row[1]]
    is_short = all(len(row[0]) <= CODE_LETTERS and row[0].isascii() and row[0].isalpha() for row in rows)
    names = {row[0]: row[1] for row in rows}
    return names if len(rows) > 1 and is_short and len(names) == len(rows) == len(cells) else {}


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


def han_pairs(text: str) -> frozenset[str]:
    """Neighbouring Chinese characters that are no words for asking."""
    runs = _HAN_RUN.findall(_ASKING.sub(" ", text))
    return frozenset(run[at : at + 2] for run in runs for at in range(len(run) - 1)) - stop_words()


def is_asked_by_group(question: str, head: str) -> bool:
    """Whether the question has a word for what a column with this head holds."""
    return any(asking.search(question) and heads.search(head) for asking, heads in _column_groups())


def without_asking_words(question: str, heads: Sequence[str]) -> str:
    """The question without the words that ask for what columns with these heads hold."""
    for asking, of_heads in _column_groups():
        if any(map(of_heads.search, heads)):
            question = asking.sub(" ", question)
    return question


@cache
def _column_groups() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Of each line of the data file the words of questions and those of heads."""
    lines = (line.split("|") for line in read_lines("ragcore.extractive", "column_words.txt"))
    return tuple((beginnings(asking), beginnings(heads)) for asking, heads in lines)
