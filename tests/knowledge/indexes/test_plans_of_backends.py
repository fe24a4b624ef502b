"""EXPLAIN: what another search backend costs Postgres is read by index."""

import pytest

from knowledge.indexes import backend_outbox, visible_passages
from knowledge.models import BackendChange, IndexEntry
from tests.knowledge.indexes.test_plans import indexes_used, many_make, visible  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=many_make)]


def test_what_was_found_is_confirmed_by_id(visible):  # noqa: F811
    params = {**visible.params, "tenant": tenant(), "ids": [1, 2, 3]}

    assert "knowledge_indexentry_pkey" in indexes_used(visible_passages.CONFIRM.format(visible=visible.sql), params)


@pytest.mark.usefixtures("visible")
def test_entries_are_copied_page_by_page_in_the_order_of_their_ids():
    used = indexes_used(backend_outbox.OF_TENANT, {"tenant": tenant(), "model": model(), "after": 5, "limit": 10})

    assert "knowledge_indexentry_pkey" in used


@pytest.mark.usefixtures("visible")
def test_entries_of_changed_documents_are_read_by_version():
    documents = list(IndexEntry.objects.values_list("version__document", flat=True)[:3])
    for sql in (backend_outbox.OF_DOCUMENTS, backend_outbox.IDS_OF_DOCUMENTS):
        used = indexes_used(sql, {"documents": documents, "model": model(), "after": 0, "limit": 10})

        assert any(name.startswith("knowledge_indexentry_version_id") for name in used)


@pytest.mark.usefixtures("visible")
def test_the_outbox_is_taken_in_order_without_reading_all_of_it():
    mine = tenant()
    BackendChange.objects.bulk_create(BackendChange(tenant_id=mine, document_id=n) for n in range(5000))

    assert "knowledge_backendchange_pkey" in indexes_used(backend_outbox.TAKE, {"tenant": mine, "limit": 10})


def tenant():
    return IndexEntry.objects.values_list("tenant", flat=True).first()


def model():
    return IndexEntry.objects.values_list("embedding_model", flat=True).first()
