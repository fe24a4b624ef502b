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

from ragcore.extractive.cell_numbers import Measure, column_measures, measures_in
from ragcore.extractive.column_words import is_asked_by_group
from ragcore.extractive.extremes import ASKS_ELSE, ASKS_WHICH, BestOrWorst, Extreme, extremes, whole_words
from ragcore.extractive.lookup_table import LookupTable
from ragcore.extractive.number_columns import Selection, kind_of, number_columns
from ragcore.extractive.progress import Unfinished, unfinished_wish
from ragcore.extractive.property_names import properties_in
from ragcore.extractive.row_question import RowQuestion, asks_rows, plain
from ragcore.extractive.sentences import Statement
from ragcore.extractive.targets import Target, target_wish
from ragcore.ports import Tokenizer
from ragcore.text.across_words import across_words
from ragcore.text.amount_ranges import ranges_in
from ragcore.text.glossary import glossary_of
from ragcore.text.scripts import language_of
from ragcore.text.word_lists import beginnings, read_section_lines

LEAST_KNOWN = 0.5  # share of the question's other words that the table has
_ASKING = "哪几幾"  # how a Chinese word of a question begins that names nothing: 哪条
LEAST_MEANT = 0.5  # share of a word's meanings that a table in the other language says
# several things are asked for, in a question or by their name alone: "sites with a drop rate above 1 %"
_LISTS = re.compile(
    r"\bwhich (?:[\w-]+ ){0,2}(?!(?:is|was|does|has)\b)[\w-]+s\b"
    r"|\A(?:all (?:the )?)?(?:[\w-]+ ){0,2}[\w-]+s"
    r" (?:with|whose|where|that|above|below|over|under|exceeding|missing|meeting)\b",
    re.IGNORECASE,
)
_CHOOSES = re.compile(  # things that are to be told by a target
    r"\b(?:which|list|show|name)\b|哪[些个個家款台种]|列出|的[^的，,。\s谁怎什如需要几多会能]{1,8}[？?]?\Z",
    re.IGNORECASE,
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
        fitting = [(self._is_named(table, at, question), -at, values) for at, values in number_columns(table)]
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
        kind = kind_of(values)
        is_same = kind == self.amount.kind != ""
        return is_same or (is_named and Measure(0, kind).is_like(self.amount))


Wish = Extreme | BestOrWorst | Condition | Limit | Target | Unfinished


def asks_selection(question: str) -> bool:
    """Whether a question wants rows that are chosen by what a column holds."""
    text = plain(question)
    return bool(_wishes(text)) or asks_target(text)


def asks_target(question: str) -> bool:
    """Whether a question, in plain form, wants things that are compared with a target."""
    asks = asks_rows(question) or any(pattern.search(question) for pattern in (_CHOOSES, _LISTS))
    return asks and ASKS_ELSE.search(question) is None and target_wish(question) is not None


def select_rows(
    question: RowQuestion,
    tables: Sequence[LookupTable],
    *,
    tokenizer: Tokenizer,
    across: bool = False,
    statements: Sequence[Statement] = (),
) -> Selection | None:
    """The rows that the question wants, of the table that is about it; None where it chooses none by a column.

    `across`: without one, the only table in the other language, of the document of the best source, that fits best.
    `statements`: those that may tell a target.
    """
    if not tables:
        return None
    familiar: list[tuple[float, Selection]] = []
    unknown: list[Selection] = []
    in_progress: list[Selection] = []
    best = min((table.members[0].source for table in tables), key=lambda source: source.number).passage.version
    wishes: list[Wish] = list(_wishes(question.text))
    if asks_target(question.text) and (wish := target_wish(question.text)) is not None:
        wishes.insert(0, Target(wish, statements))
    for table in tables:
        for wish_of_table in wishes:
            if (chosen := wish_of_table.choose(question, table)) is None:
                continue
            share = _share_known(question, table, wish_of_table.words, tokenizer)
            if share >= LEAST_KNOWN:
                familiar.append((share, chosen))
            elif isinstance(wish_of_table, Unfinished):
                in_progress.append(chosen)
            elif _is_foreign(question, table):
                unknown.append(chosen)
            break
    of_best = [selection for selection in in_progress if selection.table.members[0].source.passage.version == best]
    if not familiar and len(of_best) == 1:  # "what is still open" names no row, and the document says what it is about
        return of_best[0]
    if familiar or not across:
        return max(familiar, key=lambda pair: pair[0])[1] if familiar else None
    unknown = [selection for selection in unknown if selection.table.members[0].source.passage.version == best]
    fitting = [selection for selection in unknown if selection.fit == max(other.fit for other in unknown)]
    return fitting[0] if len(fitting) == 1 else None


def _is_foreign(question: RowQuestion, table: LookupTable) -> bool:
    return language_of(question.text) != language_of(" ".join(table.head))


def _share_known(question: RowQuestion, table: LookupTable, passed: str, tokenizer: Tokenizer) -> float:
    """Share of the question's words, without those of its wish, that the table has; 1 without any.

    Words of the other language count where the table has what they mean, or a column is the property that they name.
    """
    joined = passed.replace(" ", "")  # 达到目标 is one word of the tokenizer
    words = [w for w in question.words if not (w in passed or w in joined or w.isdigit() or w[0] in _ASKING)]
    words_of_table = table.about.union(*table.head_words, *table.words)
    text = " ".join((*table.heads, *(cell for row in table.cells for cell in row), table.title))
    matching = [w for w in words if w in words_of_table or (not w.isascii() and w in text)]
    if len(matching) < len(words) and _is_foreign(question, table):
        translated = _words_meant(question, table, text, words_of_table, tokenizer)
        matching += [w for w in words if w not in matching and w in translated]
    return len(matching) / len(words) if words else 1.0


def _words_meant(
    question: RowQuestion, table: LookupTable, text: str, words_of_table: frozenset[str], tokenizer: Tokenizer
) -> str:
    """What of a question a table in the other language says, one word behind the other."""
    names = [
        match[0]
        for head in table.heads
        for entry in properties_in(head)
        if (match := entry.names.search(question.text))
    ]
    if (glossary := glossary_of(tokenizer)) is not None:
        words = across_words(question.text, tokenizer, glossary)
        names += [word.text for word in words if word.share_in(text, words_of_table) >= LEAST_MEANT]
    return " ".join((*names, *tokenizer.words(" ".join(names))))


@cache
def _wishes(question: str) -> tuple[Wish, ...]:
    """What a question, in plain form, wants of a column; extremes first, as they may name a condition, too."""
    wishes: list[Wish] = list(extremes(question))
    if asks_rows(question) or ASKS_WHICH.search(question):
        wishes += _conditions(question)[:1]
        wishes += [wish] if (wish := unfinished_wish(question)) is not None else []
    if asks_rows(question) or _LISTS.search(question):
        wishes += _limits(question)
    return tuple(wishes)


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
def _condition_lines() -> tuple[tuple[re.Pattern[str], re.Pattern[str], bool, re.Pattern[str]], ...]:
    """Of each line: words of questions, heads, whether the number is to be 0, and what cells say."""
    lines = (
        line.split("|")
        for section_lines in read_section_lines("ragcore.extractive", "condition_words.txt").values()
        for line in section_lines
    )
    return tuple(
        (whole_words(words), beginnings(heads), side.strip() == "none", whole_words(says))
        for words, heads, side, says in lines
    )
