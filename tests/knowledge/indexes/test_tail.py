"""What the planner of Postgres knows after large loads."""

import pytest
from django.db import connection

from knowledge.indexes.index_maintenance import statistics_are_old, tables_analyse
from knowledge.services import maintenance
from tests.factories import ingest, make_admin, make_set

pytestmark = pytest.mark.django_db(transaction=True)


def flushed():
    """Have this connection tell the others what it has changed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT 1")


def test_after_a_large_load_the_planner_looks_again():
    tables_analyse()
    owner = make_admin()
    ingest(owner, make_set(owners=[owner]), **{f"d{n}": f"Note {n} about filters." for n in range(5)})
    flushed()
    assert statistics_are_old(share=0.1, least=3)
    assert not statistics_are_old(share=0.1, least=5000)


def analyses():
    """Numbers of ANALYZE runs, by table. They are counted at once; changed rows are told late by every connection."""
    tables = "('knowledge_indexentry', 'knowledge_document', 'knowledge_document_sets')"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT relname, analyze_count FROM pg_stat_user_tables WHERE relname IN {tables}")
        return dict(cursor.fetchall())


def test_the_task_has_it_look(monkeypatch):
    before = analyses()
    monkeypatch.setattr(maintenance, "statistics_are_old", lambda **limits: True)
    maintenance.indexes_refresh()
    assert analyses() == {table: count + 1 for table, count in before.items()} != {}

    monkeypatch.setattr(maintenance, "statistics_are_old", lambda **limits: False)
    maintenance.indexes_refresh()
    assert analyses() == {table: count + 1 for table, count in before.items()}
