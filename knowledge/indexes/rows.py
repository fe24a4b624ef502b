"""Running hand-written SQL with named parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection


def fetch(sql: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall()


def fetch_many(sql: str, params: Sequence[Mapping[str, Any]]) -> list[list[tuple[Any, ...]]]:
    """All rows of the same query for each set of parameters, in one round trip."""
    if len(params) == 1:
        return [fetch(sql, params[0])]
    connection.ensure_connection()
    with connection.connection.pipeline():
        cursors = [connection.connection.execute(sql, one) for one in params]
    return [cursor.fetchall() for cursor in cursors]


def execute(sql: str, params: Mapping[str, Any]) -> int:
    """The number of rows that a statement touched."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.rowcount
