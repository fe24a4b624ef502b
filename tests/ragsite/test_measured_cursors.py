"""Statements are counted and timed under the metrics of django_prometheus."""

from __future__ import annotations

import pytest
from django.db import ProgrammingError, connection, transaction
from prometheus_client import REGISTRY

pytestmark = pytest.mark.django_db


def sample(name: str, **labels: str) -> float:
    found = REGISTRY.get_sample_value(f"django_db_{name}", {"alias": "default", "vendor": "postgresql", **labels})
    return found or 0.0


def test_each_statement_counts_once_and_each_row_of_many():
    names = ("execute_total", "execute_many_total", "query_duration_seconds_count")
    with connection.cursor() as cursor:
        before = [sample(name) for name in names]

        cursor.execute("SELECT 1")
        cursor.executemany("SELECT %s", [[1], [2]])

        assert [sample(name) - start for name, start in zip(names, before, strict=True)] == [3, 2, 2]


def test_an_error_counts_by_its_type_and_leaves():
    before = sample("errors_total", type="UndefinedColumn")

    with pytest.raises(ProgrammingError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT nothing")

    assert sample("errors_total", type="UndefinedColumn") == before + 1
