"""What the asker may see, as SQL; compiled from its one definition in `knowledge.selectors`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet
from psycopg.types.json import Jsonb

from knowledge.models import Document

DOCUMENT_TABLE = '"knowledge_document"'
IDS_OF_DOCUMENTS = f'SELECT {DOCUMENT_TABLE}."id" AS "pk" FROM {DOCUMENT_TABLE}'  # noqa: S608 - two constants
IS_VISIBLE = "d.id IN ({visible})"
SEEN_IN_ORDER = """
SELECT near.chunk_id, seen.id, {score}, near.representation
FROM ({near}) near
CROSS JOIN LATERAL (
    SELECT d.id FROM knowledge_document d
    WHERE d.live_version_id = near.version_id AND d.id IN ({{visible}}) LIMIT 1
) seen
ORDER BY near.distance, near.chunk_id
LIMIT %(limit)s
"""

HELD = "SELECT held.document_id FROM knowledge_document_sets held WHERE held.knowledgeset_id IN ({sets})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Conditions that every visible document meets, simple enough for any search backend; hidden ones may, too."""

    clearance: int  # at most
    sets: tuple[tuple[int, ...], ...]  # in at least one set of each group
    tags: tuple[str, ...] = ()  # any of them; () for no condition
    is_exact: bool = False  # True: within the tenant, exactly the visible documents meet them


@dataclass(frozen=True, slots=True)
class Visible:
    """What the asker may see: a subquery that yields document ids, with its named parameters.

    `bounds` approximates it for another backend than Postgres; computed only if there is one. `epoch`: the corpus epoch
    when the search began, so that it is read once per search; None if it was not read. `readable`: all sets that the
    asker could read then, for the same reason. `condition`: the same as a condition on a document `d`, which spares a
    look-up for each checked hit; "" if there is none. `has_editions`: False where no document of the tenant replaces
    another one.
    """

    sql: str
    params: Mapping[str, Any]
    bounds: Callable[[], Bounds] | None = field(default=None, compare=False)
    epoch: int | None = field(default=None, compare=False)
    readable: tuple[int, ...] | None = field(default=None, compare=False)
    condition: str = field(default="", compare=False)
    has_editions: bool = field(default=True, compare=False)

    def applied(self, sql: str) -> str:
        """A statement with what the asker may see in its placeholder."""
        if self.condition:
            sql = sql.replace(IS_VISIBLE, f"({self.condition})")
        return sql.format(visible=self.sql)


def visible_in_order_sql(near: str, *, score: str) -> str:
    """SQL for hits that checks rights entry by entry, nearest first, until `limit` visible entries are found.

    `near` yields chunk_id, version_id, representation and distance in order of distance; `score` is an expression of
    these. The placeholder for the visible documents is left open.
    """
    return SEEN_IN_ORDER.format(near=near, score=score)


def visible_sql(
    documents: QuerySet[Document],
    *,
    bounds: Callable[[], Bounds] | None = None,
    epoch: int | None = None,
    has_editions: bool = True,
) -> Visible:
    """`documents` (from documents_askable) as a subquery of ids with parameters named v0, v1, …"""
    text, params = ids_sql(documents)
    return Visible(text, params, bounds, epoch, has_editions=has_editions)


def ids_sql(rows: QuerySet[Any]) -> tuple[str, dict[str, Any]]:
    """A query for the primary keys of `rows`, as text with parameters named v0, v1, …"""
    try:
        text, values = rows.order_by().values("pk").query.sql_with_params()
    except EmptyResultSet:  # the ORM sees by itself that there are none
        return "SELECT NULL::bigint AS pk WHERE false", {}
    parts = text.split("%s")
    query = "".join(part + (f"%(v{i})s" if i < len(values) else "") for i, part in enumerate(parts))
    return query, {f"v{i}": _plain(value) for i, value in enumerate(values)}


def with_numbers(text: str, params: Mapping[str, Any]) -> str | None:
    """A query of `ids_sql` with its parameters in the text, where all of them are numbers or truth values."""
    if not all(isinstance(value, int) for value in params.values()):
        return None
    return text % {name: str(bool(v)) if isinstance(v, bool) else str(int(v)) for name, v in params.items()}


def condition_of(text: str) -> str:
    """A query of `ids_sql` for documents, as a condition on a document `d`; "" where it is more than one condition."""
    start, _, condition = text.partition(" WHERE ")
    if start != IDS_OF_DOCUMENTS or DOCUMENT_TABLE in condition.replace(f"{DOCUMENT_TABLE}.", ""):
        return ""
    return condition.replace(f"{DOCUMENT_TABLE}.", "d.")


def _plain(value: Any) -> Any:
    """JSON as text: keys are made of the repr of parameters, and the repr of the driver's JSON wrapper is shortened."""
    return json.dumps(value.obj, sort_keys=True) if isinstance(value, Jsonb) else value


# ── parts of what is visible ──────────────────────────────────────────────────────────────────────


def visible_part(visible: Visible, sets: Sequence[int], *, inside: bool) -> Visible:
    """Of what is visible the documents in any of these sets, or (not `inside`) those in none of them."""
    among = ("" if inside else "NOT ") + f"IN ({HELD.format(sets=', '.join(str(int(set_id)) for set_id in sets))})"

    def bounds() -> Bounds:
        whole = visible.bounds() if visible.bounds is not None else None
        if whole is None:
            raise ValueError("what is visible has no bounds")
        return replace(whole, sets=(*whole.sets, tuple(sets))) if inside else replace(whole, is_exact=False)

    return replace(
        visible,
        sql=f"SELECT part.pk FROM ({visible.sql}) AS part(pk) WHERE part.pk {among}",  # noqa: S608 - numbers
        condition=f"({visible.condition}) AND d.id {among}" if visible.condition else "",
        bounds=None if visible.bounds is None else bounds,
    )
