"""A Milvus Lite for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from django.core.cache import cache
from django.db import connection

from accounts.models import Tenant
from knowledge import model_registry
from knowledge.backends import backend_of
from knowledge.backends.milvus import collection
from knowledge.backends.milvus.collection import collection_ensure
from knowledge.indexes.backend_outbox import outbox_watch
from knowledge.indexes.visibility import visible_sql
from knowledge.models import Document
from knowledge.selectors import documents_askable
from knowledge.selectors.documents import search_bounds
from knowledge.services.backend_sync import backend_changes_apply, backend_copy, documents_write
from tests.factories import scope_of


@pytest.fixture(scope="session")
def lite_file(tmp_path_factory):
    return str(tmp_path_factory.mktemp("milvus") / "lite.db")


@pytest.fixture
def milvus(settings, lite_file) -> Iterator[str]:
    """An empty collection of a running Milvus Lite, configured as the search backend; nothing is copied yet.

    All tests share it, as making one takes seconds: ids of entries are never used twice in a test run.
    """
    settings.SEARCH_BACKEND, settings.MILVUS_URI, settings.MILVUS_COLLECTION = "milvus", lite_file, "tests"
    cache.clear()
    collection.rested()
    collection_ensure("tests")
    yield "tests"
    collection.rested()
    settings.MILVUS_URI = lite_file
    collection.call("delete", seconds=10, collection_name="tests", filter="id > 0")


def watch():
    """Note changes from now on, inside the transaction of a test."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # tables with checks to come cannot be altered
        outbox_watch(on=True)
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


def copy_all():
    """Copy every tenant."""
    for tenant in Tenant.objects.order_by("pk"):
        list(backend_copy(tenant=tenant))


class Index:
    """The backend that is configured, for the contract."""

    def ports(self, user, *, sets=(), filters=None):
        asked = {"scope": scope_of(user), "sets": sets, "filters": filters}
        visible = visible_sql(documents_askable(**asked), bounds=partial(search_bounds, **asked))
        return backend_of(scope=asked["scope"], visible=visible, model=model_registry.embedder().model)

    def settle(self):
        """Bring the backend to what Postgres has."""

    def rewrite(self, external_id):
        """After a change that nothing but a test makes."""


class MilvusIndex(Index):
    """The first `settle` copies everything, later ones apply what has changed."""

    def __init__(self, collection):
        self.collection, self.copied = collection, set()
        watch()

    def ports(self, user, **narrowed):
        self.settle_tenants()
        ports = super().ports(user, **narrowed)
        assert ports.note == {"backend": "milvus"}
        return ports

    def settle(self):
        self.settle_tenants()
        backend_changes_apply()

    def settle_tenants(self):
        for tenant in Tenant.objects.exclude(pk__in=self.copied).order_by("pk"):
            list(backend_copy(tenant=tenant))
            self.copied.add(tenant.pk)

    def rewrite(self, external_id):
        documents_write(self.collection, [Document.objects.get(external_id=external_id).pk])


@pytest.fixture
def postgres_index():
    return Index()


@pytest.fixture
def milvus_index(milvus, db, monkeypatch):
    """Milvus that may not leave an answer to Postgres."""
    monkeypatch.setattr("knowledge.backends.falling_back.FAILURES", ())
    return MilvusIndex(milvus)
