"""Running hand-written SQL with named parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection


def fetch(sql: str, params: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """All rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall()


def execute(sql: str, params: Mapping[str, Any]) -> int:
    """The number of rows that a statement touched."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.rowcount
