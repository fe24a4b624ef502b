"""Everybody locks in one order: the statistics of a tenant, jobs, documents, items, and the epoch last."""

from __future__ import annotations

import pytest
from django.db import connection, transaction

from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.lexical_statistics import statistics_lock
from knowledge.models import Document, IngestItem
from knowledge.services.composition import set_sources_put
from knowledge.services.ingestion.item_state import items_claim, items_put_off_or_fail
from knowledge.services.sources import source_delete
from knowledge.types import SourceFilter
from ragcore.errors import CorruptDocumentError
from tests.factories import ingest, make_admin, make_set, scope_of
from tests.knowledge.locks import Beside
from tests.knowledge.sources.building import folder_source, run
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner():
    return make_admin()


@pytest.fixture
def shelf(tmp_path, settings):
    settings.SOURCE_FOLDERS = (str(tmp_path),)
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(f"Note {name}.")
    return tmp_path


def soon():
    """Waiting for a lock that is not given is an error, and no long wait."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '500ms'")


def test_who_ends_an_item_waits_for_its_document_before_it_holds_the_item(owner):
    done = upload(owner, make_set(owners=[owner]))
    [item] = items_claim(job_id=done.job.pk)
    failing = Beside(lambda: items_put_off_or_fail([item], CorruptDocumentError()))

    with transaction.atomic():  # what cancelling and publishing do: documents, then items
        Document.objects.select_for_update().get(pk=done.document.pk)
        failing.start_and_wait_for_lock()
        soon()
        IngestItem.objects.select_for_update().get(pk=item.pk)

    failing.end()
    assert IngestItem.objects.get().stage == "failed"


def test_composing_a_set_locks_the_epoch_after_all_documents(owner, shelf, monkeypatch):
    monkeypatch.setattr("knowledge.services.composition.BATCH", 1)
    source = folder_source(owner, shelf)
    run(owner, source)
    last = Document.objects.get(external_id="c.txt")
    chosen = make_set(owners=[owner])
    composing = Beside(
        lambda: set_sources_put(
            scope=scope_of(owner), actor=owner, set_id=chosen.pk, sources=[(source.pk, SourceFilter())]
        )
    )

    with transaction.atomic():
        Document.objects.select_for_update().get(pk=last.pk)
        composing.start_and_wait_for_lock()
        soon()
        epoch_advance(tenant_id=owner.tenant_id)

    composing.end()
    assert chosen.documents.count() == 3


def test_a_further_language_is_asked_for_only_by_who_holds_the_statistics(owner):
    ingest(owner, make_set(owners=[owner]), a="Only English so far.")
    asking = Beside(lambda: locked(owner.tenant_id, "zh"))

    with transaction.atomic():
        statistics_lock(tenant_id=owner.tenant_id)
        asking.start_and_wait_for_lock()
        soon()
        assert "zh" in statistics_lock(tenant_id=owner.tenant_id, languages={"zh"})

    asking.end()


def locked(tenant_id, language):
    with transaction.atomic():
        statistics_lock(tenant_id=tenant_id, languages={language})


def test_removing_a_source_lets_others_work_between_its_documents(owner, shelf, monkeypatch):
    monkeypatch.setattr("knowledge.services.deletion.BATCH", 1)
    source = folder_source(owner, shelf)
    run(owner, source)
    ingest(owner, make_set(owners=[owner]), x="Something to have statistics of.")
    last = Document.objects.get(external_id="c.txt")
    removing = Beside(
        lambda: source_delete(scope=scope_of(owner), actor=owner, source_id=source.pk, with_documents=True)
    )

    with transaction.atomic():
        Document.objects.select_for_update().get(pk=last.pk)
        removing.start_and_wait_for_lock()
        assert Document.objects.filter(state="deleted").count() == 2

    removing.end()
    assert not type(source).objects.filter(pk=source.pk).exists()
