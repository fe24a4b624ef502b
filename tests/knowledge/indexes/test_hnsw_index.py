"""The vector index as a whole: dropped, built, and searched around."""

from __future__ import annotations

import numpy as np
import pytest
from django.db import connection, transaction

from knowledge.backends import ScopedVectorIndex
from knowledge.indexes import index_maintenance, search_space
from knowledge.indexes.index_maintenance import index_rebuild
from knowledge.indexes.visibility import visible_sql
from knowledge.models import IndexEntry
from knowledge.selectors import documents_askable
from knowledge.services import maintenance
from tests.factories import ingest, make_admin, make_set, question_with, scope_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner():
    owner = make_admin()
    texts = {f"d{n}": f"Report {n} about beams, antennas and the losses of filter {n}." for n in range(12)}
    ingest(owner, make_set("common", owners=[owner]), **texts)
    return owner


@pytest.fixture(autouse=True)
def _as_it_was():
    yield
    search_space.indexed.clear()
    if not index_maintenance.hnsw_is_valid():
        index_maintenance.hnsw_drop()
        index_maintenance.hnsw_create()


def large(monkeypatch, *, bulk):
    monkeypatch.setattr(maintenance, "MERGE_FROM", 5)
    monkeypatch.setattr(maintenance, "BULK_FROM", bulk)


def definition():
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_indexdef('knowledge_entry_coarse'::regclass)")
        return cursor.fetchone()[0]


def test_very_many_new_entries_are_indexed_all_at_once(owner, monkeypatch, settings):
    large(monkeypatch, bulk=5)
    settings.HNSW_M, settings.HNSW_EF_CONSTRUCTION = 16, 64

    moved = maintenance.vectors_merge()

    assert moved == IndexEntry.objects.count()
    assert not IndexEntry.objects.filter(merged=False).exists()
    assert index_maintenance.hnsw_is_valid()
    assert "m='16'" in definition()
    assert "ef_construction='64'" in definition()


def test_some_new_entries_are_indexed_one_by_one(owner, monkeypatch):
    large(monkeypatch, bulk=1000)
    monkeypatch.setattr(maintenance, "hnsw_drop", pytest.fail)

    assert maintenance.vectors_merge() == IndexEntry.objects.count()


def test_an_index_that_an_interrupted_build_left_out_is_built_by_the_next_run(owner, monkeypatch):
    large(monkeypatch, bulk=1000)
    maintenance.vectors_merge()
    index_maintenance.hnsw_drop()

    maintenance.vectors_merge()

    assert index_maintenance.hnsw_is_valid()


def test_people_find_the_same_while_there_is_no_index(owner):
    IndexEntry.objects.update(merged=True)
    vector = np.random.default_rng(1).standard_normal(768).astype(np.float32)
    before = index_of(owner).coarse(question_with(vector), limit=5)

    index_maintenance.hnsw_drop()
    search_space.indexed.clear()

    index = index_of(owner)
    assert index.coarse(question_with(vector), limit=5) == before
    assert "index" not in index.said["vector_plan"]["costs"]


def index_of(owner):
    scope = scope_of(owner)
    model = IndexEntry.objects.values_list("embedding_model", flat=True)[0]
    return ScopedVectorIndex(scope, visible_sql(documents_askable(scope=scope)), model)


def test_a_rebuild_uses_the_present_settings(settings):
    settings.HNSW_M, settings.HNSW_EF_CONSTRUCTION = 24, 128

    index_rebuild(index_maintenance.HNSW_INDEX)

    assert "m='24'" in definition()


def test_the_memory_of_a_build_is_given_back():
    with connection.cursor() as cursor:
        cursor.execute("SHOW maintenance_work_mem")
        before = cursor.fetchone()
        with index_maintenance.memory_for_build():
            pass
        cursor.execute("SHOW maintenance_work_mem")

        assert cursor.fetchone() == before


def test_inside_a_transaction_it_is_refused_in_words():
    with pytest.raises(RuntimeError, match="outside"), transaction.atomic():
        index_maintenance.hnsw_drop()
