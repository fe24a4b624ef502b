"""What the asker may see, as SQL; compiled from its one definition in `knowledge.selectors`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet
from psycopg.types.json import Jsonb

from knowledge.models import Document

SEEN_IN_ORDER = """
SELECT near.chunk_id, seen.id, near.representation, {score}
FROM ({near}) near
CROSS JOIN LATERAL (
    SELECT d.id FROM knowledge_document d
    WHERE d.live_version_id = near.version_id AND d.id IN ({{visible}}) LIMIT 1
) seen
ORDER BY near.distance, near.chunk_id
LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Conditions that every visible document meets, simple enough for any search backend; hidden ones may, too."""

    clearance: int  # at most
    sets: tuple[tuple[int, ...], ...]  # in at least one set of each group
    tags: tuple[str, ...] = ()  # any of them; () for no condition
    is_exact: bool = False  # True: within the tenant, exactly the visible documents meet them


@dataclass(frozen=True, slots=True)
class Visible:
    """A subquery that yields document ids, with its named parameters.

    `bounds` approximates it for another backend than Postgres; computed only if there is one. `epoch`: the corpus epoch
    when the search began, so that it is read once per search; None if it was not read.
    """

    sql: str
    params: Mapping[str, Any]
    bounds: Callable[[], Bounds] | None = field(default=None, compare=False)
    epoch: int | None = field(default=None, compare=False)


def visible_in_order_sql(near: str, *, score: str) -> str:
    """SQL that checks rights entry by entry, nearest first, until `limit` visible entries are found.

    `near` yields chunk_id, version_id, representation and distance in order of distance; `score` is an expression of
    these. The placeholder for the visible documents is left open.
    """
    return SEEN_IN_ORDER.format(near=near, score=score)


def visible_sql(
    documents: QuerySet[Document], *, bounds: Callable[[], Bounds] | None = None, epoch: int | None = None
) -> Visible:
    """`documents` (from documents_askable) as a subquery of ids with parameters named v0, v1, …"""
    text, values = documents.order_by().values("pk").query.sql_with_params()
    parts = text.split("%s")
    named = "".join(part + (f"%(v{i})s" if i < len(values) else "") for i, part in enumerate(parts))
    return Visible(named, {f"v{i}": _plain(value) for i, value in enumerate(values)}, bounds, epoch)


def _plain(value: Any) -> Any:
    """JSON as text: keys are made of the repr of parameters, and the repr of the driver's JSON wrapper is shortened."""
    return json.dumps(value.obj, sort_keys=True) if isinstance(value, Jsonb) else value
