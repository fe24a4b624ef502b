"""Facts as files: CSV and JSON-LD, written row by row."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from accounts.audit.csv_export import escaped_cell
from knowledge.models import Triple

COLUMNS = ("subject", "relation", "object", "subject_type", "object_type", "confidence", "sentence")
NAMES = "urn:ragsite:"


class _Line:
    """Gives back what csv writes."""

    def write(self, text: str) -> str:
        return text


def csv_lines(rows: Iterable[Triple]) -> Iterator[str]:
    """A header and one line for each fact; the import reads the same facts. Formulas are made harmless by a quote."""
    writer = csv.writer(_Line())
    yield writer.writerow(COLUMNS)
    for row in rows:
        yield writer.writerow([escaped_cell(str(getattr(row, name))) for name in COLUMNS])


def jsonld_lines(rows: Iterable[Triple]) -> Iterator[str]:
    """One graph of statements."""
    head = {"@vocab": f"{NAMES}relation:", "name": "http://schema.org/name"}
    yield f'{{"@context": {json.dumps(head)}, "@graph": ['
    for number, row in enumerate(rows):
        object_ = {"@id": _id(row.object_key), "name": row.object, **_type(row.object_type)}
        statement = {
            "@id": _id(row.subject_key), "name": row.subject, **_type(row.subject_type), _word(row.relation): object_
        }  # fmt: skip
        yield (", " if number else "") + json.dumps(statement, ensure_ascii=False)
    yield "]}"


def _id(key: str) -> str:
    return f"{NAMES}entity:{quote(key)}"


def _word(relation: str) -> str:
    """A relation that JSON-LD does not take for a keyword."""
    return f"{NAMES}relation:{quote(relation)}"


def _type(kind: str) -> dict[str, str]:
    return {"@type": f"{NAMES}type:{quote(kind)}"} if kind else {}
