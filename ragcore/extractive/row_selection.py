"""Rows of a table chosen by what a column holds: the dearest, those out of stock, those above 50 EUR.

Words of the question say which column is meant, where it does not name one: "expensive" a price, "out of stock" a
stock of 0, "for at most one week" a column of times.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from ragcore.extractive.cell_numbers import DATE, NUMBER_WORDS, Measure, column_measures, measures_in
from ragcore.extractive.lookup_table import LookupTable, is_asked_by_group
from ragcore.extractive.row_question import RowQuestion, asks_rows, plain
from ragcore.text.amount_ranges import ranges_in
from ragcore.text.scripts import language_of
from ragcore.text.word_lists import beginnings, longest_first, read_section_lines

LEAST_KNOWN = 0.5  # share of the question's other words that the table has
MONEY = "money"
BY_NAME = "by name"  # section of extreme_words.txt
_ASKS_WHICH = re.compile(
    r"\b(?:which|what|who|whose|list|show|name|give|find|tell)\b|哪(?![里裡儿兒])|[谁誰]|列出|最.的", re.IGNORECASE
)
_LIMIT_BEHIND = re.compile(r"[可能只不要需允支是几幾多为為]")  # "最长可以借几天" asks for no row
_LISTS = re.compile(r"\bwhich (?:[\w-]+ ){0,2}(?!(?:is|was|does|has)\b)[\w-]+s\b", re.IGNORECASE)
_LIMIT_BEFORE = re.compile(r"\bat (?:the )?\Z")
_FIRST_ONES = re.compile(
    r"\b(\d{1,2}|two|three|four|five|six|seven|eight|nine|ten)\s+(?:most|least|\w+est)\b"
    r"|[前的](\d{1,2}|[二两兩三四五六七八九十])[个個种種款条條项項台家]"
)
_COMPARED: tuple[tuple[Callable[[float, float], bool], re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (compare, re.compile(rf"(?:{before})\s*(?:the\s|of\s)?\Z"), re.compile(behind))
    for compare, before, behind in (
        (
            operator.le,
            r"\bat most|\b(?:no|not) (?:more|longer) than|\bup to|\bmaximum|\bmax\.?|\bwithin"
            r"|(?:最多|至多|最长|最長)[^\d，,。]{0,5}|不超过|不超過|不高于",
            r"\s?(?:以内|以內|以下|之内|之內|or (?:less|below|fewer|shorter))",
        ),
        (
            operator.ge,
            r"\bat least|\b(?:no|not) (?:less|fewer|shorter) than|至少|不少于|不低于|不短于",
            r"\s?(?:以上|or (?:more|above|longer))",
        ),
        (
            operator.lt,
            r"\b(?:less|fewer|cheaper|shorter|lighter|lower|smaller) than|\bunder|\bbelow"
            r"|少于|少於|低于|低於|小于|小於|短于|不到|不足",
            r"(?!)",
        ),
        (
            operator.gt,
            r"\b(?:more|longer|heavier|higher|larger|greater) than|\bover|\babove|\bexceed(?:s|ing)?"
            r"|超过|超過|高于|高於|大于|大於|多于|多於|长于",
            r"(?!)",
        ),
    )
)
_BOUND = re.compile(r"最长|最長|最多|至多|不超过|不超過|\bup to\b|\bat most\b|\bmax", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows of a table that were chosen by one of its columns."""

    table: LookupTable
    rows: tuple[int, ...]
    column: int
    fit: tuple[bool, int, bool]  # of the column to the words: by its head, words of its name, by its kind


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
            for at, values in _columns(table)
            if (fit := self._fit(table, at, values, question)) and any(values[row] is not None for row in rows)
        ]
        if not fitting:
            return None
        fit, place, values = max(fitting, key=lambda candidate: candidate[:2])
        measured = {row: value.value for row in rows if (value := values[row]) is not None}
        order = sorted(measured, key=lambda row: measured[row], reverse=self.is_largest)
        last = measured[order[min(_wanted_number(question.text), len(order)) - 1]]
        is_in = operator.ge if self.is_largest else operator.le
        return Selection(table, tuple(row for row in order if is_in(measured[row], last)), -place, fit)

    def _fit(
        self, table: LookupTable, at: int, values: Sequence[Measure | None], question: RowQuestion
    ) -> tuple[bool, int, bool] | None:
        """How well a column fits, to be compared; None where the words do not mean it."""
        kind = _kind_of(values)
        if (kind == DATE) != (DATE in self.kinds):
            return None
        is_head = self.heads.search(table.heads[at]) is not None
        is_kind = kind in self.kinds or (MONEY in self.kinds and kind.startswith(MONEY))
        name_matches = sum(question.has(w) and w not in self.words for w in table.head_words[at])
        is_meant = is_head or is_kind or (name_matches and self.is_by_name)
        return (is_head, name_matches, is_kind) if is_meant else None


@dataclass(frozen=True, slots=True)
class Condition:
    """A number that is 0, or is not; one line of condition_words.txt."""

    words: str  # of the question
    heads: re.Pattern[str]
    is_none: bool
    says: re.Pattern[str]
    denies: re.Pattern[str]  # of the line that says the contrary

    def choose(self, question: RowQuestion, table: LookupTable) -> Selection | None:
        """All rows for which the column that is meant says so."""
        rows = table.with_values(question, self.words)
        for at in range(1, len(table.head)):
            if self.heads.search(table.heads[at]):
                values = column_measures(table.head[at], [row[at] for row in table.cells])
                matching = tuple(
                    row for row in rows if self._holds(table.cells[row][at], values[row] if values else None)
                )
                if matching:
                    return Selection(table, matching, at, (True, 0, values != []))
        return None

    def _holds(self, cell: str, value: Measure | None) -> bool:
        if value is not None:
            return (value.value == 0) is self.is_none
        return self.says.search(cell) is not None and (self.is_none or not self.denies.search(cell))


@dataclass(frozen=True, slots=True)
class Limit:
    """An amount that a number of a column is compared with."""

    words: str  # of the question
    compare: Callable[[float, float], bool]
    amount: Measure

    def choose(self, question: RowQuestion, table: LookupTable) -> Selection | None:
        """All rows with such a number in the first column of this kind, or in the one that the question names."""
        fitting = [(self._is_named(table, at, question), -at, values) for at, values in _columns(table)]
        fitting = [candidate for candidate in fitting if self._is_meant(candidate[2], is_named=candidate[0])]
        if not fitting:
            return None
        is_named, place, values = max(fitting, key=lambda candidate: candidate[:2])
        column = -place
        cells = [row[column] for row in table.cells]
        if any(True for cell in cells for _range in ranges_in(cell)):
            return None  # whether an amount lies within them is asked otherwise
        rows = [
            row
            for row in table.with_values(question, self.words)
            if (value := values[row]) is not None and self._holds(value)
        ]
        if any(map(_BOUND.search, cells)):  # "at most 2 weeks" beside "5 days in advance"
            rows = [row for row in rows if _BOUND.search(cells[row])]
        return Selection(table, tuple(rows), column, (is_named, 0, True)) if rows else None

    def _holds(self, value: Measure) -> bool:
        return self.compare(value.value, self.amount.value)

    def _is_named(self, table: LookupTable, at: int, question: RowQuestion) -> bool:
        has_word = any(question.has(w) and w not in self.words for w in table.head_words[at] - table.about)
        return has_word or is_asked_by_group(question.text, table.heads[at])

    def _is_meant(self, values: Sequence[Measure | None], *, is_named: bool) -> bool:
        kind = _kind_of(values)
        is_same = kind == self.amount.kind != ""
        return is_same or (is_named and Measure(0, kind).is_like(self.amount))


Wish = Extreme | Condition | Limit


def asks_selection(question: str) -> bool:
    """Whether a question wants rows that are chosen by what a column holds."""
    return bool(_wishes(plain(question)))


def select_rows(question: RowQuestion, tables: Sequence[LookupTable], *, across: bool = False) -> Selection | None:
    """The rows that the question wants, of the table that is about it; None where it chooses none by a column.

    `across`: without one, the only table in the other language, of the document of the best source, that fits best.
    """
    if not tables:
        return None
    familiar: list[tuple[float, Selection]] = []
    unknown: list[Selection] = []
    best = min((table.members[0].source for table in tables), key=lambda source: source.number).passage.version
    for table in tables:
        for wish in _wishes(question.text):
            if (chosen := wish.choose(question, table)) is None:
                continue
            share = _share_known(question, table, wish.words)
            if share >= LEAST_KNOWN:
                familiar.append((share, chosen))
            elif language_of(question.text) != language_of(" ".join(table.head)):
                unknown.append(chosen)
            break
    if familiar or not across:
        return max(familiar, key=lambda pair: pair[0])[1] if familiar else None
    unknown = [selection for selection in unknown if selection.table.members[0].source.passage.version == best]
    fitting = [selection for selection in unknown if selection.fit == max(other.fit for other in unknown)]
    return fitting[0] if len(fitting) == 1 else None


def _columns(table: LookupTable) -> list[tuple[int, list[Measure | None]]]:
    """The columns of numbers behind the first one, with what their cells measure."""
    columns = (
        (at, column_measures(table.head[at], [row[at] for row in table.cells])) for at in range(1, len(table.head))
    )
    return [(at, values) for at, values in columns if values]


def _kind_of(values: Sequence[Measure | None]) -> str:
    return next((value.kind for value in values if value is not None and value.kind), "")


def _share_known(question: RowQuestion, table: LookupTable, passed: str) -> float:
    """Share of the question's words, without those of its wish, that the table has; 1 without any."""
    words = [w for w in question.words if w not in passed and not w.isdigit()]
    words_of_table = table.about.union(*table.head_words, *table.words)
    text = " ".join((*table.heads, *(cell for row in table.cells for cell in row), table.title))
    matching = [w for w in words if w in words_of_table or (not w.isascii() and w in text)]
    return len(matching) / len(words) if words else 1.0


def _wanted_number(question: str) -> int:
    match = _FIRST_ONES.search(question)
    if match is None:
        return 1
    word = match[1] or match[2]
    return int(word) if word.isdigit() else NUMBER_WORDS.get(word, 2)


@cache
def _wishes(question: str) -> tuple[Wish, ...]:
    """What a question, in plain form, wants of a column; extremes first, as they may name a condition, too."""
    wishes: list[Wish] = list(_extremes(question))
    if asks_rows(question) or _ASKS_WHICH.search(question):
        wishes += _conditions(question)[:1]
    if asks_rows(question) or _LISTS.search(question):
        wishes += _limits(question)
    return tuple(wishes)


def _extremes(question: str) -> list[Extreme]:
    """One for each line of the list that has a word of the question, those that mean one thing alone first."""
    asks_which = _ASKS_WHICH.search(question) is not None
    matches: list[tuple[int, int, Extreme]] = []
    for is_by_name, heads, kinds, sides in _extreme_lines():
        for is_largest, words in sides:
            for match in words.finditer(question):
                is_limit = _LIMIT_BEHIND.match(question, match.end()) or _LIMIT_BEFORE.search(question[: match.start()])
                if not (is_by_name and (is_limit or not asks_which)):
                    matches.append((*match.span(), Extreme(match[0], is_largest, heads, kinds, is_by_name)))
    return [
        extreme
        for start, end, extreme in matches
        if not any(s <= start and end <= e and e - s > end - start for s, e, _other in matches)
    ]


def _conditions(question: str) -> list[Condition]:
    lines = _condition_lines()
    return [
        Condition(match[0], heads, is_none, says, next(s for _w, h, n, s in lines if n and h.pattern == heads.pattern))
        for words, heads, is_none, says in lines
        if (match := words.search(question))
    ]


def _limits(question: str) -> list[Limit]:
    limits = []
    for place in measures_in(question):
        before, behind = question[: place.start].rstrip(), question[place.end :]
        ways = [(compare, follows.match(behind)) for compare, _leads, follows in _COMPARED]
        ways += [(compare, leads.search(before)) for compare, leads, _follows in _COMPARED]
        compare, comparison = next(((compare, match) for compare, match in ways if match), (None, None))
        if compare is not None and comparison is not None:
            limits.append(Limit(f"{comparison[0]} {question[place.start : place.end]}", compare, place.measure))
    return limits


@cache
def _extreme_lines() -> tuple[
    tuple[bool, re.Pattern[str], frozenset[str], tuple[tuple[bool, re.Pattern[str]], tuple[bool, re.Pattern[str]]]], ...
]:
    """Of each line: whether its words need the name of a column, its heads, its kinds, words for both sides."""
    sections = read_section_lines("ragcore.extractive", "extreme_words.txt")
    lines = []
    for name, section_lines in sections.items():
        for line in section_lines:
            largest, smallest, heads, kinds = line.split("|")
            sides = ((True, _whole_words(largest)), (False, _whole_words(smallest)))
            kind_names = frozenset(kind.strip() for kind in kinds.split(","))
            lines.append((name == BY_NAME, beginnings(heads), kind_names, sides))
    return tuple(lines)


@cache
def _condition_lines() -> tuple[tuple[re.Pattern[str], re.Pattern[str], bool, re.Pattern[str]], ...]:
    """Of each line: words of questions, heads, whether the number is to be 0, and what cells say."""
    lines = (
        line.split("|")
        for section_lines in read_section_lines("ragcore.extractive", "condition_words.txt").values()
        for line in section_lines
    )
    return tuple(
        (_whole_words(words), beginnings(heads), side.strip() == "none", _whole_words(says))
        for words, heads, side, says in lines
    )


def _whole_words(words: str) -> re.Pattern[str]:
    """Finds words between commas, longer ones first: Latin ones as whole words, Chinese ones anywhere."""
    listed = longest_first(word.strip() for word in words.split(","))
    return re.compile("|".join(rf"\b{re.escape(w)}\b" if w.isascii() else re.escape(w) for w in listed))
