"""The row with the largest, smallest, best or worst number of a column."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ragcore.extractive.cell_numbers import DATE, NUMBER_WORDS, Measure
from ragcore.extractive.lookup_table import LookupTable
from ragcore.extractive.number_columns import Selection, kind_of, number_columns
from ragcore.extractive.property_names import Side, named_column
from ragcore.extractive.row_question import RowQuestion
from ragcore.text.word_lists import beginnings, longest_first, read_section_lines

MONEY = "money"
BY_NAME, BY_SIDE = "by name", "by side"  # sections of extreme_words.txt
ASKS_WHICH = re.compile(
    r"\b(?:which|what|who|whose|list|show|name|give|find|tell)\b|哪(?![里裡儿兒])|[谁誰]|列出|最.的", re.IGNORECASE
)
ASKS_ELSE = re.compile(
    r"\b(?:how(?! many)|why|when|should|can|could|do i|does)\b|怎|如何|为什么|為什麼|为何|何时|什么时候|[吗嗎]",
    re.IGNORECASE,
)
_LIMIT_BEHIND = re.compile(r"[可能只不要需允支是几幾多为為]")  # "最长可以借几天" asks for no row
_LIMIT_BEFORE = re.compile(r"\bat (?:the )?\Z")
_FIRST_ONES = re.compile(
    r"\b(\d{1,2}|two|three|four|five|six|seven|eight|nine|ten)\s+(?:most|least|\w+est)\b"
    r"|[前的](\d{1,2}|[二两兩三四五六七八九十])[个個种種款条條项項台家]"
)
# between a word for the best one and the name of the column, before and behind it: "best (site by) availability"
_NAME_BEHIND = re.compile(
    r"(?:\s?(?:的|是)?|\s(?:[\w-]+\s)?"
    r"|\s(?:[\w-]+\s){0,2}(?:by|in terms of|regarding|for|with|on)\s(?:the\s|regard to\s)?)\Z"
)
_NAME_BEFORE = re.compile(r"(?:\s?(?:表现|指标|數值|数值)?(?:是|为)?|\s(?:is|was|are|were)?\s?(?:the\s)?)\Z")


@dataclass(frozen=True, slots=True)
class Extreme:
    """The largest or the smallest number of a column; one line of extreme_words.txt."""

    words: str  # of the question
    is_largest: bool
    heads: re.Pattern[str]
    kinds: frozenset[str]
    is_by_name: bool

    def choose(self, question: RowQuestion, table: LookupTable) -> Selection | None:
        """The row with this number among those that the question names, or several where it wants several."""
        rows = table.with_values(question, self.words)
        fitting = [
            (fit, -at, values)
            for at, values in number_columns(table)
            if (fit := self._fit(table, at, values, question)) and any(values[row] is not None for row in rows)
        ]
        if not fitting:
            return None
        fit, place, values = max(fitting, key=lambda candidate: candidate[:2])
        return Selection(table, first_rows(question, rows, values, is_largest=self.is_largest), -place, fit)

    def _fit(
        self, table: LookupTable, at: int, values: Sequence[Measure | None], question: RowQuestion
    ) -> tuple[bool, int, bool] | None:
        """How well a column fits, to be compared; None where the words do not mean it."""
        kind = kind_of(values)
        if (kind == DATE) != (DATE in self.kinds):
            return None
        is_head = self.heads.search(table.heads[at]) is not None
        is_kind = kind in self.kinds or (MONEY in self.kinds and kind.startswith(MONEY))
        name_matches = sum(question.has(w) and w not in self.words for w in table.head_words[at])
        if not name_matches and self.is_by_name and named_column(question, table, at, question.text):
            name_matches = 1  # in the other language
        is_meant = is_head or is_kind or (name_matches and self.is_by_name)
        return (is_head, name_matches, is_kind) if is_meant else None


@dataclass(frozen=True, slots=True)
class BestOrWorst:
    """The good or the bad end of a column that the question names beside the word: "the worst drop rate"."""

    words: str
    is_best: bool
    start: int  # of the words in the question
    end: int

    def choose(self, question: RowQuestion, table: LookupTable) -> Selection | None:
        """The row with the best or worst number among those that the question names; None where no side is good."""
        rows = table.with_values(question, self.words)
        candidates = [
            (column.fit, -at, column.good, values)
            for at, values in number_columns(table)
            if (column := named_column(question, table, at, question.text)) is not None
            and self._is_beside(question.text, column.words)
            and any(values[row] is not None for row in rows)
        ]
        if not candidates:
            return None
        _fit, place, good, values = max(candidates, key=lambda candidate: candidate[:2])
        if not good:
            return None
        chosen = first_rows(question, rows, values, is_largest=_is_high(good, is_best=self.is_best))
        return Selection(table, chosen, -place, (True, 1, False))

    def _is_beside(self, text: str, name: str) -> bool:
        """Whether the words are said of the name: "the best way to a lower drop rate" asks for no row."""
        for match in re.finditer(re.escape(name), text):
            if match.start() >= self.end and _NAME_BEHIND.match(text[self.end : match.start()]):
                return True
            if match.end() <= self.start and _NAME_BEFORE.match(text[match.end() : self.start]):
                return True
        return False


def first_rows(
    question: RowQuestion, rows: Sequence[int], values: Sequence[Measure | None], *, is_largest: bool
) -> tuple[int, ...]:
    """The rows with the largest or smallest numbers, as many as the question wants, and those equal to the last."""
    measured = {row: value.value for row in rows if (value := values[row]) is not None}
    order = sorted(measured, key=lambda row: measured[row], reverse=is_largest)
    last = measured[order[min(_wanted_number(question.text), len(order)) - 1]]
    is_in = operator.ge if is_largest else operator.le
    return tuple(row for row in order if is_in(measured[row], last))


def extremes(question: str) -> list[Extreme | BestOrWorst]:
    """One for each line of the list that has a word of the question, those that mean one thing alone first."""
    asks_which = ASKS_WHICH.search(question) is not None
    matches: list[tuple[int, int, Extreme | BestOrWorst]] = []
    for section, heads, kinds, sides in _extreme_lines():
        is_by_name = section == BY_NAME
        for is_largest, words in sides:
            for match in words.finditer(question):
                is_limit = _LIMIT_BEHIND.match(question, match.end()) or _LIMIT_BEFORE.search(question[: match.start()])
                if section == BY_SIDE:
                    if not ASKS_ELSE.search(question):
                        matches.append((*match.span(), BestOrWorst(match[0], is_largest, *match.span())))
                elif not (is_by_name and (is_limit or not asks_which)):
                    matches.append((*match.span(), Extreme(match[0], is_largest, heads, kinds, is_by_name)))
    return [
        extreme
        for start, end, extreme in matches
        if not any(s <= start and end <= e and e - s > end - start for s, e, _other in matches)
    ]


def whole_words(words: str) -> re.Pattern[str]:
    """Finds words between commas, longer ones first: Latin ones as whole words, Chinese ones anywhere."""
    listed = longest_first(word.strip() for word in words.split(","))
    return re.compile("|".join(rf"\b{re.escape(w)}\b" if w.isascii() else re.escape(w) for w in listed))


def _is_high(good: Side, *, is_best: bool) -> bool:
    return (good == "high") is is_best


def _wanted_number(question: str) -> int:
    match = _FIRST_ONES.search(question)
    if match is None:
        return 1
    word = match[1] or match[2]
    return int(word) if word.isdigit() else NUMBER_WORDS.get(word, 2)


@cache
def _extreme_lines() -> tuple[
    tuple[str, re.Pattern[str], frozenset[str], tuple[tuple[bool, re.Pattern[str]], tuple[bool, re.Pattern[str]]]], ...
]:
    """Of each line: its section, its heads, its kinds, words for both sides."""
    sections = read_section_lines("ragcore.extractive", "extreme_words.txt")
    lines = []
    for name, section_lines in sections.items():
        for line in section_lines:
            largest, smallest, heads, kinds = line.split("|")
            sides = ((True, whole_words(largest)), (False, whole_words(smallest)))
            kind_names = frozenset(kind.strip() for kind in kinds.split(","))
            lines.append((name, beginnings(heads), kind_names, sides))
    return tuple(lines)
