"""Facts and entities as files: CSV and JSON-LD, written row by row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal
from urllib.parse import quote

from django.http import StreamingHttpResponse

from knowledge.models import Triple
from knowledge.selectors.entity_cards import ExportedEntity
from ragcore.text.csv_rows import csv_line

GraphFormat = Literal["csv", "jsonld"]
FACT_COLUMNS = ("subject", "relation", "object", "subject_type", "object_type", "confidence", "sentence")
ENTITY_COLUMNS = ("name", "type", "mentions", "documents", "other_names")
MEDIA_TYPES: Mapping[GraphFormat, str] = {"csv": "text/csv; charset=utf-8", "jsonld": "application/ld+json"}
NAMES = "urn:ragsite:"


def graph_file(lines: Iterator[str], form: GraphFormat, name: str) -> StreamingHttpResponse:
    """A download that is written while it is read; `name` without its ending."""
    headers = {"Content-Disposition": f'attachment; filename="{name}.{form}"'}
    return StreamingHttpResponse(lines, content_type=MEDIA_TYPES[form], headers=headers)


def fact_lines(rows: Iterable[Triple], form: GraphFormat) -> Iterator[str]:
    """Facts; the import reads the same ones of the CSV file."""
    if form == "jsonld":
        return _jsonld({"@vocab": f"{NAMES}relation:"}, map(_statement, rows))
    return _csv(FACT_COLUMNS, ([getattr(row, name) for name in FACT_COLUMNS] for row in rows))


def entity_lines(rows: Iterable[ExportedEntity], form: GraphFormat) -> Iterator[str]:
    """Entities with their other names."""
    if form == "jsonld":
        terms = {"mentions": f"{NAMES}mentions", "documents": f"{NAMES}documents"}
        return _jsonld({"alternateName": "http://schema.org/alternateName", **terms}, map(_entity, rows))
    cells = (
        (row.entity.name, row.entity.kind, row.mentions, row.documents, "; ".join(row.other_names)) for row in rows
    )
    return _csv(ENTITY_COLUMNS, cells)


def _csv(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> Iterator[str]:
    """A header and one line for each row. Formulas are made harmless by a quote."""
    yield csv_line(columns)
    for row in rows:
        yield csv_line(row, is_read_again=True)


def _jsonld(context: Mapping[str, str], nodes: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """One graph of nodes."""
    yield f'{{"@context": {json.dumps({**context, "name": "http://schema.org/name"})}, "@graph": ['
    for number, node in enumerate(nodes):
        yield (", " if number else "") + json.dumps(node, ensure_ascii=False)
    yield "]}"


def _statement(row: Triple) -> Mapping[str, object]:
    object_ = {"@id": _id(row.object_key), "name": row.object, **_type(row.object_type)}
    return {"@id": _id(row.subject_key), "name": row.subject, **_type(row.subject_type), _word(row.relation): object_}


def _entity(row: ExportedEntity) -> Mapping[str, object]:
    names = {"alternateName": list(row.other_names)} if row.other_names else {}
    return {
        "@id": _id(row.entity.key), "name": row.entity.name, **_type(row.entity.kind), **names,
        "mentions": row.mentions, "documents": row.documents,
    }  # fmt: skip


def _id(key: str) -> str:
    return f"{NAMES}entity:{quote(key)}"


def _word(relation: str) -> str:
    """A relation that JSON-LD does not take for a keyword."""
    return f"{NAMES}relation:{quote(relation)}"


def _type(kind: str) -> dict[str, str]:
    return {"@type": f"{NAMES}type:{quote(kind)}"} if kind else {}
