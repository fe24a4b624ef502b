"""The rows of one table as questions are compared with them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragcore.extractive.column_words import (
    coded_names,
    columns_holding,
    han_pairs,
    is_asked_by_group,
    joined_names,
    legends_of,
    parts_of,
    ranged_columns,
    row_codes,
)
from ragcore.extractive.row_question import (
    NEGATED,
    RowQuestion,
    asks_change,
    asks_total,
    codes_of,
    counts,
    is_number_of,
    plain,
)
from ragcore.extractive.sentences import Statement
from ragcore.ports import Tokenizer
from ragcore.text.amount_ranges import covers
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words

VALUE_CHARACTERS = 16  # of a cell that may be the value of a kind: "Oslo", "in work"
MOST_ALIKE = 3  # rows that a question names in the same words
LEAST_LEAD = 1.25  # times as much as the second row's weight, so that a row is the one that was named
LEAST_EXPLAINED = 0.5  # share of the question's content words that row, head and title hold
MOST_COLUMNS = 8  # of a whole row
LISTED_COLUMNS = 5  # of several rows, besides those that the question names
MOST_PROPERTIES = 2  # rows that are called after what is asked
REMARK_CHARACTERS = 6  # of a cell that says something beside its column
MOST_JOINED = 4  # rows that a question names one beside the other
_NO = frozenset({"否", "无", "無", "没有", "no", "none", "n", "-", "—", "false"})
_YES = frozenset({"是", "有", "yes", "y", "√", "✓", "true"})
_HAN = re.compile(rf"[{CJK}]")


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows of one table as they are to be shown."""

    head: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], int], ...]  # cells of the chosen columns, and the number of the source
    omitted: int = 0  # rows that are not shown
    total: str = ""  # how many there are, in the words of a question that asks for it: "8 critical alarms"
    every: str = ""  # how many rows the table has, of a question that asks for both: "22 alarms, how many are critical"
    stated: tuple[str, int] | None = None  # a sentence that they were compared with, and the number of its source


class LookupTable:
    """The rows of one table, those of all its passages. `beside`: sentences that may say what its columns stand for."""

    def __init__(self, members: Sequence[Statement], tokenizer: Tokenizer, beside: Sequence[Statement] = ()) -> None:
        self.head = members[0].head
        self.members = sorted(members, key=lambda s: (s.source.passage.ordinal, s.position))
        self.heads = [plain(name) for name in self.head]
        self.cells = [[plain(cell) for cell in s.cells] for s in self.members]
        self.words = [frozenset(tokenizer.words(" ".join(s.cells))) for s in self.members]
        self.firsts = [self._content(tokenizer.words(s.cells[0])) for s in self.members]
        self.codes = [row_codes(s.cells) for s in self.members]
        self.head_words = [self._content(tokenizer.words(name)) for name in self.head]
        passage = self.members[0].source.passage
        self.title = plain(title := " ".join((passage.title, *passage.heading_path, members[0].heading)))
        version = passage.version
        self.ranged = ranged_columns(self.heads)
        sentences = [s for s in beside if s.source.passage.version == version and not s.is_row]
        self.legend = legends_of(self.heads, sentences)
        self.about = frozenset(tokenizer.words(title)) | frozenset(codes_of(title))

    def named(self, question: RowQuestion) -> list[int]:
        """The row that the question names; [] where none stands out."""
        _keys, weights = self._weighed(question)
        order = sorted(range(len(weights)), key=lambda at: -weights[at])
        first = order[0]
        second = weights[order[1]] if len(order) > 1 else 0.0
        if weights[first] <= 0 or weights[first] < LEAST_LEAD * second or not self._explains(first, question):
            return []
        return [first]

    def alike(self, question: RowQuestion) -> list[int]:
        """The two or three rows that the question names in the same words, before all others; [] without any.

        "The bandwidth of a sensor" where there is one for each of two bands.
        """
        keys, weights = self._weighed(question)
        most = max(weights, default=0.0)
        rows = [at for at, weight in enumerate(weights) if weight == most and keys[at] == keys[weights.index(most)]]
        lower = [weight for at, weight in enumerate(weights) if at not in rows]
        is_clear = most > 0 and most >= LEAST_LEAD * max(lower, default=0.0)
        return rows if is_clear and 1 < len(rows) <= MOST_ALIKE and self._explains(rows[0], question) else []

    def columns_holding(self, question: RowQuestion) -> set[int]:
        """The column whose head gives the range that holds an amount of the question: 1,000-4,999 of 2000 pieces.

        None where the question names another column with all its words.
        """
        holding = columns_holding(self.heads, self.ranged, (*question.amounts, *question.numbers))
        other_heads = (words for at, words in enumerate(self.head_words) if at and at not in self.ranged and words)
        return set() if any(all(map(question.has, words)) for words in other_heads) else holding

    def columns_listed(self, question: RowQuestion) -> set[int]:
        """Columns of which a legend lists a word of the question."""
        return {at for at, legend in self.legend.items() if legend.names(question.listed)}

    def named_cell(self, question: RowQuestion) -> TableRows | None:
        """The only cell whose row and column the question names with all their words, and besides nothing else."""
        common = frozenset.intersection(*self.head_words[1:]) if len(self.head) > 2 else frozenset[str]()
        rows = [at for at, words in enumerate(self.firsts) if words and words <= question.words]
        columns = [at for at, words in enumerate(self.head_words) if at and words - common and words <= question.words]
        if len(rows) != 1 or len(columns) != 1 or not self.cells[rows[0]][columns[0]]:
            return None
        explained = self.firsts[rows[0]] | self.head_words[columns[0]] | self.about
        return self.cut(rows, [0, *columns]) if question.words <= explained else None

    def coded_cell(self, question: RowQuestion) -> TableRows | None:
        """The cell of a property in the column of a model, where the question has the model's code and asks for it.

        "What breaker size for the P10": the row whose name is one for what is asked, or two of them.
        """
        columns = [at for at in self._coded(question) if any(map(str.isdigit, self.heads[at]))]
        rows = [at for at, row in enumerate(self.cells) if is_asked_by_group(question.text, row[0])]
        return self.cut(rows, [0, *columns]) if columns and 0 < len(rows) <= MOST_PROPERTIES else None

    def joined(self, question: RowQuestion) -> list[int]:
        """Two or more rows whose first cells together hold what the question joins; else []."""
        uncovered = {w for row in self.firsts for w in row if question.has(w)} - self.about
        chosen: list[int] = []
        while uncovered and len(chosen) < MOST_JOINED:
            best = max(range(len(self.firsts)), key=lambda at: self._worth(at, uncovered))
            covered = {w for w in self.firsts[best] if w in uncovered}
            if not covered:
                break
            chosen.append(best)
            uncovered -= covered
        return sorted(chosen) if len(chosen) > 1 else []

    def of_kind(self, question: RowQuestion, names: Mapping[str, str] | None = None) -> list[int]:
        """All rows with the values that the question names: one of them in each column of which it names some.

        `names`: of codes, by which the question may call them.
        """
        conditions: dict[int, set[str]] = {}
        for column, head in enumerate(self.heads):
            values = {row[column] for row in self.cells if 0 < len(row[column]) <= VALUE_CHARACTERS} - self.about
            matches = (
                {value for value in values if question.holds(value, head)}
                or self._with_name(values, names or {}, question)
                or self._with_word(column, question)
                or self._affirmed(column, values, question)
            )
            if matches and (column > 0 or len(matches) > 1):
                conditions[column] = matches
        if not conditions:
            return []
        rows = range(len(self.cells))
        return [at for at in rows if all(self.cells[at][column] in values for column, values in conditions.items())]

    def shown(self, rows: Sequence[int], question: RowQuestion) -> TableRows:
        """These rows in the columns that identify them and those that were asked for; all columns where none was."""
        requested = self.columns_asked(question)
        if len(rows) == 1 and len(requested) < question.parts:
            requested = set()  # several things are asked, and one column alone would be half of an answer
        matching = {
            at for at in range(len(self.head)) for row in rows if question.holds(self.cells[row][at], self.heads[at])
        }
        if len(rows) == 1 and requested:
            requested |= self._own_words(rows[0], question)
        whole = range(min(len(self.head), MOST_COLUMNS if len(rows) == 1 else LISTED_COLUMNS))
        return self.cut(rows, sorted(matching | ({0, *requested} if requested else set(whole))))

    def _own_words(self, row: int, question: RowQuestion) -> set[int]:
        """Columns in which this row alone says a word of the question: a remark beside the date that is asked for."""
        elsewhere = "\n".join((self.title, *self.heads, *(" ".join(r) for at, r in enumerate(self.cells) if at != row)))
        pairs = {pair for pair in han_pairs(question.text) if pair not in elsewhere}
        return {
            at
            for at, cell in enumerate(self.cells[row])
            if at and len(cell) >= REMARK_CHARACTERS and any(pair in cell for pair in pairs)
        }

    def asks_column(self, question: RowQuestion, passed: Collection[int] = ()) -> bool:  # behind the first one
        return bool(self.columns_asked(question).difference(passed))

    def cut(self, rows: Sequence[int], columns: Sequence[int]) -> TableRows:
        """These rows in these columns."""
        return TableRows(
            tuple(self.head[at] for at in columns),
            tuple(
                (tuple(self.members[row].cells[at] for at in columns), self.members[row].source.number) for row in rows
            ),
        )

    def common_words(self, question: RowQuestion) -> int:
        """How many words of the question its title, headings and heads have."""
        names = self.about.union(*self.head_words)
        return sum(question.has(word) for word in names)

    def all_asked(self, question: RowQuestion) -> list[int]:
        """All rows where the question names what the table is about, asks what a column tells, and names no row."""
        tells = any(is_asked_by_group(question.text, head) for head in self.heads[1:])
        is_about = any(word in question.words for word in self.about)
        is_free = not any(self._keys_of(at, question) for at in range(len(self.members)))
        return list(range(len(self.members))) if tells and is_about and is_free else []

    def is_of(self, thing: frozenset[str]) -> bool:
        """Whether title, headings or heads say that its rows are such things. `thing`: the words of their name."""
        content = [w for w in thing if w not in stop_words()]
        names = " ".join((self.title, *self.heads))
        words = self.about.union(*self.head_words)
        return any(w in words or (_HAN.search(w) and len(w) > 1 and w in names) for w in content)

    def all_counted(self, question: RowQuestion) -> list[int]:
        """All rows where the question counts what the whole table lists: "how many codes are in the table of codes".

        Where it wants the total, a word of it may also stand in a cell: "how many tools does the workshop have in all".
        """
        every = list(range(len(self.members)))
        if asks_total(question.text):
            names = self.about.union(*self.head_words, *self.words)
            is_free = not any(
                question.holds(cell, head) for row in self.cells for cell, head in zip(row, self.heads, strict=True)
            )
        else:
            names = self.about | self.head_words[0]
            is_free = not any(self._keys_of(at, question) for at in every)
        content = [word for word in question.words if not counts(word)]
        lacking = [word for word in content if word not in names and not any(word in name for name in names)]
        return every if is_free and content and not lacking else []

    def given_number(self, question: RowQuestion, rows: Sequence[int]) -> TableRows | None:
        """The cells of a column of numbers of the asked things, where the table has one; else None.

        "how many demo units do we have of the P10" is answered by the column "Number of units", not by counting.
        """
        for column in range(1, len(self.head)):
            is_number = all(self.cells[row][column].replace(",", "").isdigit() for row in rows)
            if is_number and any(question.has(word) for word in self.head_words[column]):
                return self.cut(rows, [0, column])
        return None

    def with_columns(self, rows: Sequence[int], columns: Collection[int]) -> TableRows:
        """Rows that were chosen by these columns: one of them whole, several in their first columns and these."""
        most = MOST_COLUMNS if len(rows) == 1 else LISTED_COLUMNS
        return self.cut(rows, sorted({*range(min(len(self.head), most)), *columns}))

    def with_values(self, question: RowQuestion, passed: str) -> list[int]:
        """All rows with the values that the question names, each alone or as one of several in a cell: "P10 / P20".

        `passed`: words of the question that name none.
        """
        rows = list(range(len(self.cells)))
        for column in range(1, len(self.head)):
            parts = [set(joined_names(row[column])) for row in self.cells]
            values = {
                p for cell_parts in parts for p in cell_parts if len(p) > 1 and not p.isdigit() and question.holds(p)
            } - self.about
            values = {p for p in values if p not in passed}
            longest = {p for p in values if not any(p != other and p in other for other in values)}
            if longest:
                rows = [at for at in rows if longest & parts[at]]
        return rows

    def holds_cell(self, question: RowQuestion) -> bool:
        """Whether a row with the question's code or amount has the column that is asked for."""
        rows = self.named(question)
        if not rows or not self.columns_asked(question):
            return False
        if self._is_listed(question):
            return True
        is_coded = any(not code.isdigit() for code in question.codes & self.codes[rows[0]] - self.about)
        return is_coded or any(covers(c, amount) for amount in question.amounts for c in self.cells[rows[0]])

    def _with_name(self, values: set[str], names: Mapping[str, str], question: RowQuestion) -> set[str]:
        """The codes of a column that the question calls by their names, where all of its values are such codes."""
        if not values or not values <= names.keys():
            return set()
        return {value for value in values if names[value] not in self.title and question.holds(names[value])}

    def _affirmed(self, column: int, values: set[str], question: RowQuestion) -> set[str]:
        """The value that says yes in a column of yes and no that the question names, or no where it negates."""
        pair = (
            {
                value: value in _NO or (value not in _YES and NEGATED.sub("", value, count=1) in values - {value})
                for value in values
            }
            if len(values) == 2
            else {}
        )
        if sorted(pair.values()) != [False, True] or not any(question.has(w) for w in self.head_words[column]):
            return set()
        return {value for value, is_no in pair.items() if is_no == question.is_negated}

    def _with_word(self, column: int, question: RowQuestion) -> set[str]:
        """Short values of a column of which a part is a word of the question that others lack: "field, Oslo"."""
        values = {row[column] for row in self.cells if 0 < len(row[column]) <= 2 * VALUE_CHARACTERS}
        words = question.words - self.about - frozenset[str]().union(*self.head_words)
        by_word = {w: {v for v in values if w in parts_of(v)} for w in words}
        return set().union(*(matches for matches in by_word.values() if matches and matches != values))

    def _content(self, words: Iterable[str]) -> frozenset[str]:
        return frozenset(w for w in words if w not in stop_words() and any(map(str.isalnum, w)))

    def _keys_of(self, at: int, question: RowQuestion) -> frozenset[str]:
        """Words, codes, values and amounts of the question that a row has, and that the whole table is not about."""
        values = {v for v in self.cells[at] if len(v) <= VALUE_CHARACTERS and question.holds(v)}
        exact = question.words & frozenset().union(*self.firsts)
        words = {w for w in self.words[at] if w in question.words}
        words |= {w for w in self.firsts[at] if question.has(w, exact)}
        words |= {
            w for w in question.words if len(w) > 1 and _HAN.search(w) and w in self.cells[at][0]
        }  # 小区 in 小区数
        if self._coded(question) and is_asked_by_group(question.text, self.cells[at][0]):
            words.add(f"asked {self.cells[at][0]}")  # "how loud is the P10" where the rows are properties of models
        if question.counted and is_number_of(question.counted, self.cells[at][0]):
            words.add(f"number of {question.counted}")
        ranges = {
            f"within {amount.value}" for amount in question.amounts if any(covers(c, amount) for c in self.cells[at])
        }
        return frozenset(words | question.codes & self.codes[at] | values | ranges) - self.about

    def _weighed(self, question: RowQuestion) -> tuple[list[frozenset[str]], list[float]]:
        """What each row has of the question, and how much that says of the row."""
        keys = [self._keys_of(at, question) for at in range(len(self.members))]
        frequency = Counter(key for row in keys for key in row)
        weights = [sum(self._weight(frequency[key]) for key in row) for row in keys]
        return keys, weights

    def _weight(self, rows: int) -> float:
        """How much it says of a row that it has something which this many rows have; 0 where all have it."""
        return math.log(len(self.members) / rows) if rows else 0.0

    def _worth(self, at: int, words: Collection[str]) -> tuple[int, float]:
        """How many wanted words the first cell of a row holds, and their share of it."""
        covered = sum(w in words for w in self.firsts[at])
        return covered, covered / (len(self.firsts[at]) or 1)

    def _explains(self, at: int, question: RowQuestion) -> bool:
        """Whether row, head and title hold most of what the question says, or the row its code or amount."""
        if question.codes & self.codes[at] - self.about or (
            question.holds(self.cells[at][0]) and self._is_listed(question)
        ):
            return True
        if any(covers(cell, amount) for amount in question.amounts for cell in self.cells[at]):
            return True
        words = self.words[at].union(self.about, *self.head_words)
        text = " ".join((*self.cells[at], *self.heads))
        lacking = [w for w in question.words if w not in words and not (_HAN.search(w) and w in text)]
        return len(lacking) <= (1 - LEAST_EXPLAINED) * len(question.words)

    def _is_listed(self, question: RowQuestion) -> bool:
        """Whether the question names what a column stands for."""
        return any(legend.names(question.listed) for legend in self.legend.values())

    def columns_asked(self, question: RowQuestion) -> set[int]:
        """Columns behind the first one whose head the question names, or a word for what it holds."""
        if asks_change(question.text):
            return set()  # what was before and what is now stand side by side
        if coded := self._coded(question) or self.columns_holding(question):
            return coded
        if listed := self.columns_listed(question):
            return listed
        return self.columns_named(question)

    def _coded(self, question: RowQuestion) -> set[int]:
        """Columns behind the first one that are called after a code of the question: models side by side."""
        behind = range(1, len(self.head))
        name_codes = question.codes - question.measured
        return {at for at in behind if any(codes <= name_codes for codes in coded_names(self.head[at]))}

    def columns_named(self, question: RowQuestion) -> set[int]:
        """Columns behind the first one of whose head the question has a word, or a word for what they hold."""
        behind = range(1, len(self.head))
        common = frozenset.intersection(*self.head_words[1:]) if len(self.head) > 2 else frozenset[str]()
        by_head = {at for at in behind if any(question.has(w) for w in self.head_words[at] - common)} - self.ranged
        return by_head | {at for at in behind if is_asked_by_group(question.text, self.heads[at])}


def tables_of(statements: Sequence[Statement]) -> list[list[Statement]]:
    """The rows of each table, those of all its passages together, in the order of the sources."""
    groups: dict[tuple[int, tuple[str, ...]], list[Statement]] = {}
    for statement in statements:
        if statement.head:
            groups.setdefault((statement.source.passage.version, statement.head), []).append(statement)
    return list(groups.values())
