"""Lexicon files: CSV, TSV and TBX in and out, with the faults of each line (D8)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

from django.db import transaction

from accounts.audit.csv_export import escaped_cell, unescaped_cell
from accounts.errors import NameTakenError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.statements import lexicon_lock
from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import LexiconTerm
from knowledge.selectors.lexicon import lexicon_set_get, terms_of
from knowledge.services.lexicon.tbx import is_tbx, tbx_entries, tbx_of
from knowledge.services.lexicon.terms import (
    MOST_TERMS,
    change_record,
    checked_values,
    home_terms,
    stored_values,
    term_key,
    term_store,
)
from ragcore.text.csv_fields import allow_long_fields

COLUMNS = ("term", "language", "kind", "long_form", "synonyms", "translations", "status")
ALIASES = {  # heads that people write
    "text": "term",
    "术语": "term",
    "词条": "term",
    "abbreviation": "term",
    "缩写": "term",
    "语言": "language",
    "类型": "kind",
    "long form": "long_form",
    "full form": "long_form",
    "全称": "long_form",
    "synonym": "synonyms",
    "同义词": "synonyms",
    "translation": "translations",
    "译文": "translations",
    "翻译": "translations",
    "状态": "status",
}
APART = "|"  # between names in one cell
FileFormat = Literal["csv", "tsv", "tbx"]
MEDIA_TYPES: Mapping[FileFormat, str] = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "tbx": "application/x-tbx+xml",
}
MAX_MB = 10
MOST_FAULTS = 100
ENCODINGS = ("utf-8-sig", "gb18030")


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFault:
    """A line that was not taken; the first line of the file is 1."""

    line: int
    error: LexiconTermError | NameTakenError


@dataclass(frozen=True, slots=True, kw_only=True)
class FileImported:
    """What became of a file; `changes` is the id of one of its changes, by which all are undone."""

    added: int = 0
    changed: int = 0
    same: int = 0
    faults: tuple[LineFault, ...] = ()
    change_id: int | None = None


@transaction.atomic
def lexicon_import(
    *, scope: Scope, actor: User, content: bytes, set_id: int | None = None, approve: bool = True
) -> FileImported:
    """Add the terms of a file to a lexicon, and change those that it has; good lines are taken, faulty ones reported.

    `approve`: terms without a status are approved, else suggested. Raises NotFoundError, NotAllowedError,
    MissingRightError, LexiconTermError for a file that cannot be read at all.
    """
    home = lexicon_set_get(scope=scope, set_id=set_id)
    tenant_id = home.tenant_id if home is not None else scope.tenant_id
    lexicon_lock(tenant_id=tenant_id, set_id=set_id)
    known = home_terms(scope=scope, home=home)
    by_key: dict[str, list[LexiconTerm]] = {}
    for term in known.values():
        by_key.setdefault(term.key, []).append(term)
    batch, done, faults = uuid4(), {"added": 0, "changed": 0, "same": 0}, []
    change_id: int | None = None
    default = LexiconTerm.Status.APPROVED if approve else LexiconTerm.Status.CANDIDATE
    for number, values in entries_of(content):
        try:
            old = _known(values, known, by_key)
            if old is None:
                values.setdefault("status", default)
            checked = checked_values(values, old=old)
            if old is None and len(known) >= MOST_TERMS:
                raise LexiconTermError("too_many", limit=MOST_TERMS)
        except LexiconTermError as error:
            faults.append(LineFault(line=number, error=error))
            continue
        term = old or LexiconTerm(
            tenant_id=tenant_id, knowledge_set=home, author=actor, origin=LexiconTerm.Origin.IMPORT
        )
        before = stored_values(old) if old is not None else None
        for name, value in checked.items():
            setattr(term, name, value)
        if before == stored_values(term):
            done["same"] += 1
            continue
        try:
            term_store(term)  # the lexicon may have terms that the asker may not see
        except NameTakenError as error:
            for name, value in (before or {}).items():
                setattr(term, name, value)
            faults.append(LineFault(line=number, error=error))
            continue
        known[(term.key, term.long_form)] = term
        if old is None:
            by_key.setdefault(term.key, []).append(term)
        done["changed" if old is not None else "added"] += 1
        change = change_record(term=term, before=before, after=stored_values(term), actor=actor, batch=batch)
        change_id = change.pk
    audit_record(
        actor=actor, action="lexicon.import", target=home.name if home else "tenant", **done, faults=len(faults)
    )
    return FileImported(**done, faults=tuple(faults[:MOST_FAULTS]), change_id=change_id)


def entries_of(content: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """The values of each term of a file with the line that it stands in. Raises LexiconTermError."""
    if len(content) > MAX_MB * 1024 * 1024:
        raise LexiconTermError("file_size", limit_mb=MAX_MB)
    if is_tbx(content):
        yield from tbx_entries(content)
    else:
        yield from ((number, _values(row)) for number, row in rows_of(content))


def _known(
    values: Mapping[str, Any], known: Mapping[tuple[str, str], LexiconTerm], by_key: Mapping[str, list[LexiconTerm]]
) -> LexiconTerm | None:
    """The term that a line changes: with the same long form, or the only one of its name without one."""
    key, long_form = term_key(values["text"]), " ".join(str(values.get("long_form", "")).split())
    found = known.get((key, long_form))
    if found is None and len(by_key.get(key, ())) == 1 and not (by_key[key][0].long_form and long_form):
        found = by_key[key][0]
    return found


def _values(row: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {"text": row.get("term", "")}
    for name in ("language", "kind", "long_form", "status"):
        if row.get(name):
            values[name] = row[name] if name == "long_form" else row[name].lower()
    for name in ("synonyms", "translations"):
        if row.get(name):
            values[name] = [part.strip() for part in row[name].split(APART) if part.strip()]
    return values


def rows_of(content: bytes) -> Iterator[tuple[int, dict[str, str]]]:
    """Lines of a CSV or TSV file by column, with their numbers; empty lines are passed. Raises LexiconTermError."""
    allow_long_fields()
    text = decoded(content)
    head = text.lstrip().split("\n", 1)[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if "\t" in head else _delimiter(head))
    columns: list[str] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not columns:
                columns = [ALIASES.get(cell.strip().lower(), cell.strip().lower()) for cell in cells]
                if "term" not in columns:
                    raise LexiconTermError("columns")
                continue
            yield (
                reader.line_num,
                {name: unescaped_cell(cell.strip()) for name, cell in zip(columns, cells, strict=False)},
            )
    except csv.Error as error:
        raise LexiconTermError("file") from error
    if not columns:
        raise LexiconTermError("columns")


def _delimiter(head: str) -> str:
    return ";" if head.count(";") > head.count(",") else ","


def decoded(content: bytes) -> str:
    """The text of a file in UTF-8, UTF-16 with a mark, or GB 18030. Raises LexiconTermError."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encodings: tuple[str, ...] = ("utf-16",)
    else:
        encodings = ENCODINGS
    for encoding in encodings:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\x00" not in text:
            return text
    raise LexiconTermError("file")


def lexicon_export(*, scope: Scope, set_id: int | None = None, file_format: FileFormat = "csv") -> str:
    """The terms of a lexicon as a file that `lexicon_import` reads again. Raises as lexicon_set_get."""
    home = lexicon_set_get(scope=scope, set_id=set_id)
    terms = terms_of(scope=scope, knowledge_set=home).order_by("key", "long_form")
    if file_format == "tbx":
        return tbx_of(terms, title=home.shown_name if home is not None else "Lexicon")
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t" if file_format == "tsv" else ",", lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for term in terms:
        writer.writerow(map(escaped_cell, _cells(term)))
    return out.getvalue()


def _cells(term: LexiconTerm) -> Iterable[str]:
    names = (APART.join(term.synonyms), APART.join(term.translations))
    return (term.text, term.language, term.kind, term.long_form, *names, term.status)
