r"""Files of golden cases: read from CSV and JSON Lines, with all faults and their lines, and written as both.

CSV has a header with `question` and any of the other columns; several values are separated by `|`, and `\|` is a bar
within a value. Cells that a spreadsheet would take for formulas are written with an apostrophe before them, which
reading takes away again. JSON Lines has one object a line with the same fields, values as lists.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from evaluation.errors import GoldenLineError, InvalidGoldenFileError
from evaluation.models import GoldenCase
from ragcore.text.csv_fields import allow_long_fields
from ragcore.text.csv_rows import BOM, csv_line, unescaped_cell

LISTS = ("answers", "relevant", "passages", "key_points", "tags")
GRADED = {"grades": "relevant", "passage_grades": "passages"}  # column of grades → the column that it grades
CHOICES = {
    "style": GoldenCase.Style,
    "level": GoldenCase.Level,
    "target": GoldenCase.Target,
    "structure": GoldenCase.Structure,
    "robustness": GoldenCase.Robustness,
}
COLUMNS = ("question", "answers", "relevant", "grades", "passages", "passage_grades", "key_points")
FIELDS = (*COLUMNS, *CHOICES, "refusal", "tags")
EXPECTATIONS = ("answers", "relevant", "passages", "key_points", "refusal")  # a case has at least one
LIMITS = {  # characters of one value
    "question": 2000,
    "answers": 4000,
    "relevant": 512,
    "passages": 4000,
    "key_points": 1000,
    "tags": 64,
}
MAX_VALUES = 100  # in one list
MAX_FAULTS = 50  # enough to see what is wrong with a file
MAX_GRADE = 3
YES, NO = frozenset({"1", "true", "yes", "是"}), frozenset({"", "0", "false", "no", "否"})
BAR = re.compile(r"(?<!\\)(\\*+)\|")  # begins where the backslashes begin, so that a long row of them is read once
Numbered = tuple[int, Mapping[str, Any]]
Fault = tuple[int, GoldenLineError]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenRow:
    """One case as read from a file."""

    question: str
    answers: tuple[str, ...] = ()
    relevant: tuple[str, ...] = ()  # external ids, or #<document id>
    grades: tuple[int, ...] = ()  # of the relevant documents, in their order; empty: 1 each
    passages: tuple[str, ...] = ()  # quotations
    passage_grades: tuple[int, ...] = ()
    key_points: tuple[str, ...] = ()
    style: str = GoldenCase.Style.ORIGINAL
    level: str = GoldenCase.Level.SINGLE
    target: str = ""
    structure: str = ""
    robustness: str = ""
    refusal: bool = False
    tags: tuple[str, ...] = ()
    line: int = field(default=0, compare=False)  # of the file, 1-based; 0: not from a file

    def expectation(self) -> str:
        """A digest of what is expected: the same for cases that differ in what they test, tags and line alone."""
        expected = {name: value for name, value in self.values().items() if name not in (*CHOICES, "tags")}
        return hashlib.sha256(json.dumps(expected, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]

    def values(self) -> dict[str, Any]:
        """The fields of a `GoldenCase`, other than its question."""
        grades = (
            *zip(self.relevant, self.grades, strict=False),
            *zip(self.passages, self.passage_grades, strict=False),
        )
        return {
            **{name: list(getattr(self, name)) for name in LISTS},
            "grades": {name: grade for name, grade in grades if grade != 1},
            **{name: str(getattr(self, name)) for name in CHOICES},
            "expects_refusal": self.refusal,
        }


def row_of(case: GoldenCase) -> GoldenRow:
    """A stored case as a file has it."""
    lists: dict[str, Any] = {name: tuple(getattr(case, name)) for name in LISTS}
    return GoldenRow(
        question=case.question,
        **lists,
        grades=_grades(case.relevant, case.grades),
        passage_grades=_grades(case.passages, case.grades),
        **{name: getattr(case, name) for name in CHOICES},
        refusal=case.expects_refusal,
    )


def _grades(names: Iterable[str], grades: Mapping[str, int]) -> tuple[int, ...]:
    numbers = tuple(grades.get(name, 1) for name in names)
    return numbers if any(grade != 1 for grade in numbers) else ()


def row_json(row: GoldenRow) -> dict[str, Any]:
    """The fields of one line; those that say nothing are left out, other than the first ones."""
    values = {name: getattr(row, name) for name in FIELDS}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    plain |= {name: str(getattr(row, name)) for name in CHOICES}
    silent = {name: GoldenRow.__dataclass_fields__[name].default for name in (*CHOICES, "refusal")}
    always = ("question", "answers", "relevant", "tags")
    return {name: value for name, value in plain.items() if name in always or value != silent.get(name, [])}


def row_read(values: Mapping[str, Any]) -> GoldenRow:
    """The row of `row_json`, perhaps with an id that does not count."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    return GoldenRow(**{name: value for name, value in fields.items() if name in FIELDS})


# ── writing ─────────────────────────────────────────────────────────────────────────────────────


def jsonl_lines(rows: Iterable[GoldenRow]) -> Iterator[str]:
    """One line a case, each ending with a newline."""
    for row in rows:
        yield json.dumps(row_json(row), ensure_ascii=False) + "\n"


def csv_file_lines(rows: Iterable[GoldenRow]) -> Iterator[str]:
    """Header and rows; spreadsheets read it as UTF-8 and run nothing of it."""
    yield BOM + _csv_line(FIELDS)
    for row in rows:
        values = row_json(row)
        yield _csv_line([_cell(values.get(name, "")) for name in FIELDS])


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, list):
        return str(value)
    escaped = [BAR.sub(lambda bar: bar[1] * 2 + "\\|", str(item)) for item in value]
    ends = [item + "\\" * (len(item) - len(item.rstrip("\\"))) for item in escaped[:-1]]
    return "|".join([*ends, *escaped[-1:]])


def _csv_line(cells: Iterable[str]) -> str:
    return csv_line(cells, is_read_again=True)


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


def golden_file_parse(*, name: str, content: bytes) -> list[GoldenRow]:
    """The cases of a .csv or .jsonl file. Raises InvalidGoldenFileError with all faults and their lines."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise file_error([(line, GoldenLineError("encoding"))]) from None
    numbered = _csv_lines(text) if PurePath(name).suffix.lower() == ".csv" else _json_lines(text)
    faults: list[Fault] = []
    rows: list[GoldenRow] = []
    for line, values in numbered:
        found = list(_faults(values))
        faults += [(line, fault) for fault in found]
        if not found:
            rows.append(_row(values, line))
    if not faults and not rows:
        faults = [(1, GoldenLineError("no_case"))]
    if faults:
        raise file_error(faults)
    return rows


def _csv_lines(text: str) -> Iterator[Numbered]:
    allow_long_fields()
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        header = [str(name).strip().lower() for name in reader.fieldnames or ()]
    except csv.Error:
        header = []
    if "question" not in header or set(header) - set(FIELDS) or len(set(header)) < len(header):
        raise file_error([(1, GoldenLineError("header", columns=", ".join(FIELDS)))])
    reader.fieldnames = header
    try:
        for values in reader:
            if None in values:
                yield reader.line_num, {"_fault": GoldenLineError("too_many_values")}
            elif any(values.values()):
                yield reader.line_num, {name: _read_cell(name, value or "") for name, value in values.items()}
    except csv.Error as error:
        yield reader.line_num, {"_fault": GoldenLineError("not_csv", problem=str(error))}


def _read_cell(name: str, cell: str) -> Any:
    text = unescaped_cell(cell)
    if name in GRADED:
        return [int(part) if part.isascii() and part.isdigit() and len(part) < 4 else part for part in _split(text)]
    if name in LISTS:
        return _split(text)
    if name == "refusal":
        plain = text.strip().lower()
        return plain in YES if plain in YES | NO else text
    return text.strip() or GoldenRow.__dataclass_fields__[name].default if name in CHOICES else text


def _split(text: str) -> list[str]:
    r"""Values between bars. An odd number of backslashes before a bar makes it part of the value."""
    parts, start = [""], 0
    for bar in BAR.finditer(text):
        parts[-1] += text[start : bar.start()] + "\\" * (len(bar[1]) // 2)
        start = bar.end()
        if len(bar[1]) % 2:
            parts[-1] += "|"
        else:
            parts.append("")
    parts[-1] += text[start:]
    return [part.strip() for part in parts if part.strip()]


def _json_lines(text: str) -> Iterator[Numbered]:
    for line, source in enumerate(text.split("\n"), 1):
        if not source.strip():
            continue
        try:
            values = json.loads(source)
        except (ValueError, RecursionError) as error:
            yield line, {"_fault": GoldenLineError("not_json", problem=str(error))}
            continue
        yield line, values if isinstance(values, dict) else {"_fault": GoldenLineError("not_an_object")}


def _faults(values: Mapping[str, Any]) -> Iterator[GoldenLineError]:
    """What is wrong with one line, as ends of sentences."""
    if "_fault" in values:
        yield values["_fault"]
        return
    if unknown := set(values) - set(FIELDS):
        yield GoldenLineError("unknown_fields", names=sorted(unknown))
    question = values.get("question")
    if not isinstance(question, str) or not question.strip():
        yield GoldenLineError("no_question")
    elif len(question) > LIMITS["question"]:
        yield GoldenLineError("long_question", limit=LIMITS["question"])
    elif not _is_storable(question):
        yield GoldenLineError("not_storable", field="question")
    for name in LISTS:
        yield from _list_faults(name, values.get(name, []))
    for name, graded in GRADED.items():
        yield from _grade_faults(name, values.get(name, []), graded, values.get(graded, []))
    for name, choices in CHOICES.items():
        if name in values and values[name] not in (*choices.values, GoldenRow.__dataclass_fields__[name].default):
            yield GoldenLineError("not_a_choice", field=name, choices=", ".join(choices.values))
    if not isinstance(values.get("refusal", False), bool):
        yield GoldenLineError("not_a_choice", field="refusal", choices="yes, no")
    if not any(values.get(name) for name in EXPECTATIONS):
        yield GoldenLineError("nothing_expected")


def _list_faults(field: str, value: Any) -> Iterator[GoldenLineError]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        yield GoldenLineError("not_a_list", field=field)
    elif len(value) > MAX_VALUES:
        yield GoldenLineError("many_values", field=field, limit=MAX_VALUES)
    elif any(len(item) > LIMITS[field] for item in value):
        yield GoldenLineError("long_values", field=field, limit=LIMITS[field])
    elif not all(map(_is_storable, value)):
        yield GoldenLineError("not_storable", field=field)


def _grade_faults(field: str, value: Any, graded: str, names: Any) -> Iterator[GoldenLineError]:
    numbers = isinstance(value, list) and all(type(grade) is int and 1 <= grade <= MAX_GRADE for grade in value)
    if not numbers or (value and isinstance(names, list) and len(value) != len(names)):
        yield GoldenLineError("not_grades", field=field, graded=graded)


def _is_storable(text: str) -> bool:
    """No NUL, and no half of a surrogate pair: the database takes neither."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def _row(values: Mapping[str, Any], line: int) -> GoldenRow:
    plain = dict(values)
    for name in LISTS:
        plain[name] = tuple(text.strip() for text in values.get(name, ()))
    for name, graded in GRADED.items():
        plain[name] = tuple(values.get(name, ()))
        if not plain[name]:
            plain[graded] = tuple(dict.fromkeys(plain[graded]))
    for name in ("answers", "key_points", "tags"):
        plain[name] = tuple(dict.fromkeys(plain[name]))
    return GoldenRow(**{**plain, "question": values["question"].strip(), "line": line})


def file_error(faults: list[Fault]) -> InvalidGoldenFileError:
    """The error that names these faults with their lines."""
    lines = [f"line {line} {fault}" for line, fault in faults[:MAX_FAULTS]]
    more = [f"and {len(faults) - MAX_FAULTS} more"] if len(faults) > MAX_FAULTS else []
    return InvalidGoldenFileError("lines", lines="; ".join([*lines, *more]), faults=faults)
