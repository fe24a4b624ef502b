"""Attributes of documents: filter conditions in Postgres, and facet counts within the asker's rights.

Equality uses the GIN index of `metadata`; ranges are JSON paths on what is left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from operator import or_
from typing import Any

from django.db.models import BooleanField, F, Func, JSONField, Q, Value

from accounts.scope import Scope
from knowledge.errors import InvalidFilterError
from knowledge.filtering import AnyOf, Between, Condition, conditions_of
from knowledge.indexes.statements import fetch
from knowledge.indexes.visibility import Visible
from knowledge.types import AttributeFacet, AttributeFacets, Facet, FacetValue

# ── conditions ────────────────────────────────────────────────────────────────────────────────────


SIGNS = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}
# Bounds are days, but a text may continue with a time of day: upper bounds are compared with the end of the day.
DAY_SIGNS = {"gte": ">=", "gt": ">", "lte": "<", "lt": "<"}
OPEN_ENDED = ("gt", "lte")
END_OF_DAY = "\U0010ffff"  # sorts after whatever may follow a day
IS_DAY = '@ like_regex "^[0-9]{4}-[0-9]{2}-[0-9]{2}"'

KEPT = 200  # answers that a process caches
SETS = """
SELECT s.knowledgeset_id, count(*)
FROM knowledge_document d JOIN knowledge_document_sets s ON s.document_id = d.id
WHERE d.state = 'live' AND d.id IN ({visible}) AND s.knowledgeset_id = ANY(%(sets)s)
GROUP BY s.knowledgeset_id
"""
# Of very many documents only the newest are counted: `newest` rows; the answer says how many these were.
DOCUMENTS = """
SELECT d.id, d.tags, d.metadata FROM knowledge_document d
WHERE d.state = 'live' AND d.id IN ({visible})
ORDER BY d.id DESC LIMIT %(newest)s
"""
COUNTED = "SELECT count(*) FROM ({documents}) counted"
TAGS = """
WITH documents AS ({documents})
SELECT said.tag, count(*) AS documents, count(*) OVER () AS every
FROM documents d CROSS JOIN LATERAL (SELECT DISTINCT unnest(d.tags) AS tag) said
WHERE strpos(lower(said.tag), %(words)s) > 0
GROUP BY said.tag
ORDER BY documents DESC, said.tag
LIMIT %(limit)s
"""
# A list counts as each of its elements, once a document. `kind` is of all values, not only of those that are shown.
# Values are grouped before anything is asked about them: there are far fewer than pairs.
ATTRIBUTES = """
WITH documents AS ({documents}), pairs AS MATERIALIZED (
    SELECT d.id, pair.key AS name, pair.value, jsonb_typeof(pair.value) AS type
    FROM documents d CROSS JOIN LATERAL jsonb_each(d.metadata) AS pair
), single AS (
    SELECT name, value FROM pairs WHERE type IN ('string', 'number', 'boolean')
    UNION ALL
    SELECT name, value FROM (
        SELECT DISTINCT pairs.id, pairs.name, item.value
        FROM (SELECT * FROM pairs WHERE type = 'array') pairs
        CROSS JOIN LATERAL jsonb_path_query(pairs.value, '$[*]') AS item(value)
        WHERE jsonb_typeof(item.value) IN ('string', 'number', 'boolean')
    ) elements
), said AS MATERIALIZED (
    SELECT name, value, value #>> '{{}}' AS text, count(*) AS documents FROM single GROUP BY name, value
), kinds AS (
    SELECT name,
        CASE WHEN bool_and(text ~ '^-?[0-9]+([.][0-9]+)?$') THEN 'number'
             WHEN bool_and(text ~ '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}') THEN 'day'
             ELSE 'text' END AS kind
    FROM said GROUP BY name
), named AS (
    SELECT name, kind, count(*) AS documents, count(*) OVER () AS every
    FROM pairs JOIN kinds USING (name)
    WHERE type NOT IN ('null', 'object') AND value <> '[]'
    GROUP BY name, kind ORDER BY documents DESC, name LIMIT %(limit)s
), valued AS (
    SELECT name, value, said.documents,
        count(*) OVER (PARTITION BY name) AS every,
        row_number() OVER (PARTITION BY name ORDER BY said.documents DESC, text) AS place
    FROM said JOIN named USING (name)
    WHERE strpos(lower(text), %(words)s) > 0 AND length(text) <= %(longest)s
)
SELECT n.name, n.documents, n.every, n.kind, v.value, v.documents, v.every
FROM named n LEFT JOIN valued v ON v.name = n.name AND v.place <= %(limit)s
ORDER BY n.documents DESC, n.name, v.place
"""


class _Value(Func):
    """The value of an attribute of any name; `metadata -> name` would read "5" as a list position."""

    function = "jsonb_extract_path"
    output_field = JSONField()


class _PathExists(Func):
    """Whether a value matches a JSON path; values that cannot be compared do not match and raise no error."""

    function = "jsonb_path_exists"
    output_field = BooleanField()


def attribute_conditions(attributes: Mapping[str, Any]) -> list[Q | Func]:
    """Conditions for `filter()` on documents, all of which must hold. Raises InvalidFilterError."""
    try:
        conditions = conditions_of(attributes)
    except ValueError as error:
        raise InvalidFilterError(fault=str(error)) from None
    return [_compiled(name, condition) for name, condition in conditions.items()]


def _compiled(name: str, condition: Condition) -> Q | Func:
    return _any_of(name, condition) if isinstance(condition, AnyOf) else _between(name, condition)


def _any_of(name: str, condition: AnyOf) -> Q:
    """Containment, which the GIN index of `metadata` answers; once as the value itself, once as an element."""
    wanted = [form for value in condition.values for form in (value, [value])]
    return reduce(or_, (Q(metadata__contains={name: form}) for form in wanted))


def _between(name: str, condition: Between) -> Func:
    if condition.kind == "number":
        tests = [f"@.double() {SIGNS[sign]} ${sign}" for sign in condition.bounds]
        bounds = dict(condition.bounds)
    else:
        tests = [IS_DAY, *(f"@ {DAY_SIGNS[sign]} ${sign}" for sign in condition.bounds)]
        bounds = {sign: f"{day}{END_OF_DAY if sign in OPEN_ENDED else ''}" for sign, day in condition.bounds.items()}
    path = f"$[*] ? ({' && '.join(tests)})"
    value = _Value(F("metadata"), Value(name))
    return _PathExists(value, Value(path), Value(json.dumps(bounds)), Value(True))


# ── facets ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetQuery:
    """What an answer depends on: rights, corpus epoch, and a text that values must contain (lower case; empty: any)."""

    visible: Visible = field(compare=False)
    rights: str
    epoch: int
    words: str
    limit: int
    longest: int  # characters of a value; longer ones cannot be asked for
    newest: int  # documents that are counted

    @property
    def params(self) -> dict[str, Any]:
        limits = {"limit": self.limit, "longest": self.longest, "newest": self.newest}
        return {**self.visible.params, "words": self.words, **limits}


def facet_query(
    *, scope: Scope, visible: Visible, epoch: int, words: str, limit: int, longest: int, newest: int
) -> FacetQuery:
    """A question within the asker's rights; answers to equal rights, epoch and words are cached."""
    rights = f"{scope.tenant_id} {visible.sql} {sorted(visible.params.items())!r}"
    return FacetQuery(
        visible=visible,
        rights=rights,
        epoch=epoch,
        words=words.lower(),
        limit=limit,
        longest=longest,
        newest=newest,
    )


def of_documents(sql: str, visible: Visible) -> str:
    """The SQL of a count, with the documents that are counted."""
    return sql.format(documents=DOCUMENTS.format(visible=visible.sql))


@lru_cache(maxsize=KEPT)
def sets_count(question: FacetQuery, sets: tuple[int, ...]) -> dict[int, int]:
    """Live documents by set. `sets`: the sets that the asker may read; a document may be in others, too."""
    rows = fetch(SETS.format(visible=question.visible.sql), {**question.params, "sets": list(sets)})
    return {int(row[0]): int(row[1]) for row in rows}


@lru_cache(maxsize=KEPT)
def documents_count(question: FacetQuery) -> int:
    """How many documents the tags and attributes were counted in."""
    return int(fetch(of_documents(COUNTED, question.visible), question.params)[0][0])


@lru_cache(maxsize=KEPT)
def tags_count(question: FacetQuery) -> Facet:
    """The most frequent tags of live documents."""
    rows = fetch(of_documents(TAGS, question.visible), question.params)
    every = rows[0][2] if rows else 0
    return Facet(values=tuple(FacetValue(tag, documents) for tag, documents, _ in rows), more=every - len(rows))


@lru_cache(maxsize=KEPT)
def attributes_count(question: FacetQuery) -> AttributeFacets:
    """The most frequent attributes of live documents, each with its most frequent values."""
    rows = fetch(of_documents(ATTRIBUTES, question.visible), question.params)
    by_name: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        by_name.setdefault(row[0], []).append(tuple(row))
    every = rows[0][2] if rows else 0
    facets = tuple(_attribute(name, values) for name, values in by_name.items())
    return AttributeFacets(attributes=facets, more=every - len(facets))


def _attribute(name: str, rows: list[tuple[Any, ...]]) -> AttributeFacet:
    _, documents, _, kind, *_ = rows[0]
    values = tuple(FacetValue(json.loads(row[4]), row[5]) for row in rows if row[6] is not None)
    more = (rows[0][6] or 0) - len(values)
    return AttributeFacet(name=name, documents=documents, kind=kind, values=Facet(values=values, more=more))
