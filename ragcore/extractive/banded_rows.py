"""Rows whose range holds an amount of the question: who approves 4,000 EUR, what an L5 may spend, leave after 4 years.

A column whose cells give ranges side by side is a scale. An amount of its unit that lies on the scale names one row,
in words of the question's own or of the other language.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragcore.extractive.column_words import han_pairs, is_asked_by_group
from ragcore.extractive.lookup_table import LookupTable, TableRows, tables_of
from ragcore.extractive.row_question import RowQuestion, asks_whether, plain
from ragcore.extractive.sentences import Statement
from ragcore.ports import Tokenizer
from ragcore.text.across_words import across_words
from ragcore.text.amount_ranges import Amount, AmountRange, level_in, ranges_in, without_amounts
from ragcore.text.glossary import glossary_of
from ragcore.text.scripts import language_of
from ragcore.text.tokenise import stop_words

LEAST_RANGES = 2  # rows of a scale
LABEL_CHARACTERS = 24  # of a cell that is hardly more than its range
LEAST_MEANT = 0.5  # share of a word's meanings that a table in the other language says
AROUND = 2  # sentences above and below a table that say what it is about


@dataclass(frozen=True, slots=True)
class _Band:
    """The row whose range holds an amount of the question."""

    table: LookupTable
    row: int
    column: int  # of the ranges
    is_scale: bool
    is_exact: bool  # question and range name the same unit
    common: int  # words that the question has in common with the table


def find_covering_rows(
    question: str, statements: Sequence[Statement], tokenizer: Tokenizer, *, is_scale: bool = False
) -> TableRows | None:
    """The row whose range holds an amount of the question, of the table with most of its words; None without one.

    In the columns that are asked for, behind the sentence that says which column is meant. `is_scale`: of scales alone
    whose unit the question names.
    """
    row_question = RowQuestion.of(question, tokenizer)
    if not row_question.amounts or asks_whether(question):
        return None
    tables = [LookupTable(members, tokenizer, statements) for members in tables_of(statements)]
    bands = [
        band
        for table in tables
        if (band := _band_of(table, row_question, _around(table, statements), tokenizer)) is not None
    ]
    bands = [band for band in bands if not is_scale or (band.is_scale and band.is_exact)]
    if not bands:
        return None
    return _shown(max(bands, key=lambda band: (band.is_scale, band.is_exact, band.common)), row_question)


def _around(table: LookupTable, statements: Sequence[Statement]) -> list[Statement]:
    """The sentences above and below a table, under its heading."""
    first = table.members[0]
    places = [s.position for s in table.members if s.source is first.source]
    low, high = min(places) - AROUND, max(places) + AROUND
    return [
        s
        for s in statements
        if s.source is first.source and not s.head and low <= s.position <= high and s.heading == first.heading
    ]


def _band_of(
    table: LookupTable, question: RowQuestion, around: Sequence[Statement], tokenizer: Tokenizer
) -> _Band | None:
    if len(table.cells) < LEAST_RANGES:
        return None
    for column in range(len(table.head)):
        ranges = [_ranges_of(row[column]) for row in table.cells]
        ranged_rows = [row for row, amounts in enumerate(ranges) if amounts]
        if all(amounts.low == amounts.high for row in ranged_rows for amounts in ranges[row]):
            continue  # nothing but names and values: the timers T1 and T2
        is_scale = len(ranged_rows) >= LEAST_RANGES and _is_scale([row[column] for row in table.cells], ranges)
        for amount in question.amounts:
            rows = _holding(ranges, amount)
            if len(rows) != 1 or _names_other_row(ranges, rows[0], amount, question.amounts):
                continue
            like = [amounts for amounts in ranges[rows[0]] if amount.is_like(amounts)]
            is_exact = all(amounts.unit and amount.unit for amounts in like)
            common = _common(table, rows[0], question, around, tokenizer)
            band = _Band(table, rows[0], column, is_scale, is_exact, common)
            if _is_meant(band, question, tokenizer):
                return band
    return None


def _names_other_row(
    ranges: Sequence[Sequence[AmountRange]], row: int, amount: Amount, amounts: Sequence[Amount]
) -> bool:
    """Whether another amount of the same unit names another row: P1 and P2 are two rows, and compared."""
    like_amounts = (other for other in amounts if other != amount and other.unit and other.unit == amount.unit)
    return any(_holding(ranges, other) not in ([], [row]) for other in like_amounts)


def _ranges_of(cell: str) -> list[AmountRange]:
    level = level_in(cell)
    return [level] if level is not None else list(ranges_in(cell))


def _is_scale(cells: Sequence[str], ranges: Sequence[Sequence[AmountRange]]) -> bool:
    """Whether ranges lie side by side, each once, or the cells are nothing but ranges."""
    if all(len(cell) <= LABEL_CHARACTERS for cell, amounts in zip(cells, ranges, strict=True) if amounts):
        return True
    whole = sorted(
        (max(a.low for a in amounts), min(a.high for a in amounts)) for amounts in ranges if len(amounts) == 1
    )
    return len(whole) >= LEAST_RANGES and all(
        high <= low for (_l, high), (low, _h) in zip(whole, whole[1:], strict=False)
    )


def _holding(ranges: Sequence[Sequence[AmountRange]], amount: Amount) -> list[int]:
    """The rows whose ranges hold an amount; of ranges without an end the tightest, at a border the lower one."""
    rows: dict[int, tuple[float, float]] = {}
    for row, amounts in enumerate(ranges):
        like = [candidate for candidate in amounts if amount.is_like(candidate)]
        if like and all(candidate.holds(amount) for candidate in like):
            rows[row] = max(c.low for c in like), min(c.high for c in like)
    if len(rows) < LEAST_RANGES:
        return list(rows)
    if all(high == math.inf for _low, high in rows.values()):
        most = max(low for low, _high in rows.values())
        return [row for row, (low, _high) in rows.items() if low == most]
    if all(low == -math.inf for low, _high in rows.values()):
        least = min(high for _low, high in rows.values())
        return [row for row, (_low, high) in rows.items() if high == least]
    return [row for row, (_low, high) in rows.items() if high == amount.value]


def _is_meant(band: _Band, question: RowQuestion, tokenizer: Tokenizer) -> bool:
    """Whether the question is about such amounts: it says what the ranges are of, or asks for another column.

    "Type A" is told of in many tables.
    """
    table = band.table
    if _is_named(table, band.column, question, tokenizer) or _asks_first(band, question):
        return band.common > 0
    if band.is_scale and band.is_exact:
        named_columns = {at for at in range(1, len(table.head)) if _is_named(table, at, question, tokenizer)}
        asked_columns = named_columns | table.columns_named(question) | table.columns_listed(question)
        return bool(asked_columns - {band.column}) and band.common > 0
    return bool(table.columns_asked(question) - {band.column}) and table.common_words(question) > 0


def _is_named(table: LookupTable, column: int, question: RowQuestion, tokenizer: Tokenizer) -> bool:
    """Whether the question has a word of a column's name, in either language."""
    head = table.heads[column]
    if any(question.has(word) for word in table.head_words[column]):
        return True
    if any(pair in question.text for pair in han_pairs(head)):
        return True
    return _meant_words(without_amounts(question.text), head, tokenizer) > 0


def _asks_first(band: _Band, question: RowQuestion) -> bool:
    """Whether the question asks for the names of the rows: which level, of rows that are called after it."""
    return band.column > 0 and is_asked_by_group(question.text, band.table.heads[0])


def _common(
    table: LookupTable, row: int, question: RowQuestion, beside: Sequence[Statement], tokenizer: Tokenizer
) -> int:
    """How many words of the question, without its amounts, title, heads, legends and the row itself say.

    Also the sentences around the table (`beside`), of Chinese any two characters side by side.
    """
    text = without_amounts(question.text)
    words = {w for w in tokenizer.words(text) if w.isascii() and len(w) > 1 and w not in stop_words()}
    legends = (legend.listed for legend in table.legend.values())
    around = (statement.text for statement in beside)
    table_text = plain(" ".join((table.title, *table.heads, *table.cells[row], *legends, *around)))
    stems = frozenset(tokenizer.words(table_text))
    common = sum(w in stems and any(map(str.isalpha, w)) for w in words)
    common += sum(pair in table_text for pair in han_pairs(text))
    return common + _meant_words(text, table_text, tokenizer)


def _meant_words(text: str, table_text: str, tokenizer: Tokenizer) -> int:
    """How many words of a text another one in the other language says."""
    glossary = glossary_of(tokenizer)
    if glossary is None or language_of(text) == language_of(table_text):
        return 0
    stems = frozenset(tokenizer.words(table_text))
    words = across_words(text, tokenizer, glossary)
    return sum(w.text.isalpha() and w.share_in(table_text, stems) >= LEAST_MEANT for w in words)


def _shown(band: _Band, question: RowQuestion) -> TableRows:
    """The row in the columns that are asked for, with what lists them; whole where none is asked for."""
    table, legend_columns = band.table, band.table.columns_listed(question)
    columns = table.columns_asked(question) - {band.column}
    if columns:
        rows = table.cut([band.row], sorted({0, band.column, *columns}))
    elif _asks_first(band, question):
        rows = table.cut([band.row], [0, band.column])
    else:
        rows = table.shown([band.row], question)
    sentence = next((table.legend[at].statement for at in sorted(legend_columns & columns)), None)
    return rows if sentence is None else replace(rows, stated=(sentence.text, sentence.source.number))
