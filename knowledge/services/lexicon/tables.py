"""Lexicons as CSV and TSV: heads and values in both languages of the interface, faults by line.

A column of abbreviations beside that of the terms makes the abbreviation the term, and the term its long form.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from django.conf import settings
from django.utils import translation

from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import LexiconTerm
from knowledge.services.lexicon.encodings import text_of
from knowledge.services.lexicon.terms import term_key
from ragcore.text.csv_fields import allow_long_fields
from ragcore.text.csv_rows import csv_line, unescaped_cell

COLUMNS = ("term", "language", "kind", "long_form", "synonyms", "translations", "status")
ABBREVIATION = "abbreviation"  # a further column that is read
MODEL_SCORE = "model_score"  # a further column that is written, and not read: a file says nothing of our model
ALIASES = {  # heads that people write
    "text": "term",
    "术语": "term",
    "词条": "term",
    "缩写": ABBREVIATION,
    "语言": "language",
    "类型": "kind",
    "long form": "long_form",
    "full form": "long_form",
    "全称": "long_form",
    "synonym": "synonyms",
    "同义词": "synonyms",
    "translation": "translations",
    "译文": "translations",
    "译名": "translations",
    "翻译": "translations",
    "状态": "status",
}
CHOICES = {"language": LexiconTerm.Language, "kind": LexiconTerm.Kind, "status": LexiconTerm.Status}
APART = "|"  # between names in one cell
SHOWN = 40  # characters of a cell in a message

Entry = dict[str, Any] | LexiconTermError  # the values of a term, or why there are none


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


def table_entries(content: bytes) -> Iterator[tuple[int, Entry]]:
    """The values or the fault of each line with its number, the first one's for cells that go over several lines.

    Empty lines are passed. Raises LexiconTermError for a file that cannot be read.
    """
    columns: list[str] = []
    for line, last, cells in _lines(text_of(content)):
        if not columns:
            columns = _columns(cells)
        else:
            yield line, _entry(columns, cells, last=last)
    if not columns:
        raise LexiconTermError("columns")


def _lines(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """(first line, last line, cells) of each row that is not empty."""
    allow_long_fields()
    head = text.lstrip().split("\n", 1)[0]
    separator = "\t" if "\t" in head else max(",;", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, reader.line_num, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise LexiconTermError("quotes", line=line) from error


def _columns(heads: Sequence[str]) -> list[str]:
    """What each column means; an unknown one is passed over."""
    columns = [ALIASES.get(head.strip().lower(), head.strip().lower()) for head in heads]
    if "term" not in columns:
        columns = ["term" if name == ABBREVIATION else name for name in columns]
    if "term" not in columns:
        raise LexiconTermError("columns")
    for at, name in enumerate(columns):
        if name in (*COLUMNS, ABBREVIATION) and (first := columns.index(name)) != at:
            raise LexiconTermError("column_twice", first=heads[first].strip(), second=heads[at].strip())
    return columns


def _entry(columns: Sequence[str], cells: Sequence[str], *, last: int) -> Entry:
    if any(cell.strip() for cell in cells[len(columns) :]):
        return LexiconTermError("cells")
    row = {name: unescaped_cell(cell.strip()) for name, cell in zip(columns, cells, strict=False)}
    for name in (*COLUMNS, ABBREVIATION):
        first, *more = row.get(name, "").replace("\r", "\n").split("\n")
        if more:
            return LexiconTermError("line_break", text=first[:SHOWN], last=last)
    return _values(row)


def _values(row: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {"text": row.get("term", "")}
    if row.get("long_form"):
        values["long_form"] = row["long_form"]
    for name in CHOICES:
        if word := row.get(name, "").lower():
            values[name] = _by_label(name).get(word, word)
    for name in ("synonyms", "translations"):
        if row.get(name):
            values[name] = [part.strip() for part in row[name].split(APART) if part.strip()]
    return {**values, **_abbreviated(values, row[ABBREVIATION])} if row.get(ABBREVIATION) else values


def _abbreviated(values: Mapping[str, Any], short: str) -> dict[str, Any]:
    """What an abbreviation changes: the term becomes its long form, or a synonym beside another long form."""
    term, long_form = values["text"], values.get("long_form", "")
    found = {"text": short, "kind": values.get("kind", str(LexiconTerm.Kind.ABBREVIATION))}
    if term and not long_form:
        found["long_form"] = term
    elif term and term_key(term) != term_key(long_form):
        found["synonyms"] = [term, *values.get("synonyms", ())]
    return found


@cache
def _by_label(column: str) -> dict[str, str]:
    """Word → value: the values themselves, and how each language of the interface shows them, in lower case."""
    found = {}
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            found.update({str(label).lower(): value for value, label in CHOICES[column].choices})
    return found | {value: value for value in CHOICES[column].values}


# ── writing ─────────────────────────────────────────────────────────────────────────────────────


def table_of(terms: Iterable[LexiconTerm], *, separator: str) -> str:
    """The terms of a lexicon as a table that `table_entries` reads again, without the score of the language model."""
    lines = [csv_line((*COLUMNS, MODEL_SCORE), separator=separator)]
    for term in terms:
        score = "" if term.model_score is None else f"{term.model_score:g}"
        names = (APART.join(term.synonyms), APART.join(term.translations))
        cells = (term.text, term.language, term.kind, term.long_form, *names, term.status, score)
        lines.append(csv_line(cells, separator=separator, is_read_again=True))
    return "".join(lines)
