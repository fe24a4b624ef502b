"""The asker's visibility as SQL, compiled from its one definition in `knowledge.selectors`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from knowledge.models import Document


@dataclass(frozen=True, slots=True)
class Visible:
    """A subquery that yields document ids, with its named parameters."""

    sql: str
    params: Mapping[str, Any]


def visible_sql(documents: QuerySet[Document]) -> Visible:
    """`documents` (from documents_askable) as a subquery of ids with parameters named v0, v1, …"""
    text, values = documents.order_by().values("pk").query.sql_with_params()
    parts = text.split("%s")
    named = "".join(part + (f"%(v{i})s" if i < len(values) else "") for i, part in enumerate(parts))
    return Visible(named, {f"v{i}": value for i, value in enumerate(values)})
