"""Which changes another backend hears of, and how they are applied."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection, transaction
from django.utils import timezone

from knowledge.backends.errors import BackendRefusedError, BackendUnavailableError
from knowledge.backends.milvus import collection
from knowledge.backends.milvus import collection as milvus_rows
from knowledge.indexes import backend_outbox, statements
from knowledge.model_registry import live_model
from knowledge.models import BackendChange, Document, IndexEntry, TenantBackend, WholeVector
from knowledge.services import backend_changes_apply, backend_sync, document_delete
from knowledge.services.deletion import purge
from knowledge.services.edits import chunk_disable, chunk_replace
from knowledge.services.sets import set_delete
from tests.factories import ingest, make_set, make_tenant, scope_of
from tests.knowledge.backends.conftest import copy_all, watch

pytestmark = pytest.mark.django_db


@pytest.fixture
def document(owner, common):
    return ingest(owner, common, a="alpha beta gamma")["a"]


def noted():
    """Documents in the outbox, which is empty afterwards."""
    found = set(BackendChange.objects.values_list("document_id", flat=True))
    BackendChange.objects.all().delete()
    return found


def delete(owner, document):
    document_delete(scope=scope_of(owner), actor=owner, document_id=document.pk)


def edit(owner, document):
    chunk = document.live_version.chunks.get()
    chunk_replace(scope=scope_of(owner), actor=owner, chunk_id=chunk.pk, text="another text")


def disable(owner, document):
    chunk_disable(scope=scope_of(owner), actor=owner, chunk_id=document.live_version.chunks.get().pk)


CHANGES = {
    "deleted": delete,
    "edited": edit,
    "disabled": disable,
    "a new version": lambda owner, document: ingest(owner, document.sets.get(), a="another text"),
    "clearance": lambda owner, document: Document.objects.filter(pk=document.pk).update(clearance=2),
    "tags": lambda owner, document: Document.objects.filter(pk=document.pk).update(tags=["new"]),
    "into a set": lambda owner, document: document.sets.add(make_set(owners=[owner])),
    "out of its set": lambda owner, document: document.sets.clear(),
    "its set is deleted": lambda owner, document: set_delete(
        scope=scope_of(owner), actor=owner, set_id=document.sets.get().pk
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_people_find_differently_is_noted_in_the_same_transaction(owner, document, name):
    watch()

    CHANGES[name](owner, document)

    assert noted() == {document.pk}


def test_new_weights_are_noted_and_rows_that_only_move_into_an_index_are_not(owner, common, document):
    watch()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE knowledge_indexentry SET merged = true")
        assert noted() == set()
        cursor.execute("UPDATE knowledge_indexentry SET bm25 = '{1:0.25}/1000000000'")

    assert noted() == {document.pk}


def test_a_title_or_a_rating_concerns_no_other_backend(document):
    watch()

    Document.objects.update(title="new", rating=4.5, weight=2)

    assert noted() == set()


def test_nothing_is_noted_while_nobody_is_searched_elsewhere(owner, document):
    CHANGES["tags"](owner, document)
    delete(owner, document)

    assert not backend_outbox.outbox_is_watching()
    assert noted() == set()


def test_what_is_rolled_back_is_not_noted(owner, document):
    watch()
    with transaction.atomic():
        CHANGES["tags"](owner, document)
        transaction.set_rollback(True)

    assert noted() == set()


def test_purged_rows_are_noted_though_they_are_gone(owner, document):
    delete(owner, document)
    Document.objects.filter(pk=document.pk).update(deleted=timezone.now() - timedelta(days=99))
    watch()

    purge(days=30)

    assert not Document.objects.filter(pk=document.pk).exists()
    assert noted() == {document.pk}


# ── applying ──


@pytest.fixture
def copied(milvus, owner, common, document):
    watch()
    copy_all()
    return document


def stored(collection, document):
    return milvus_rows.ids_of_documents(collection, [document.pk])


def test_a_change_is_applied_once_and_again_does_no_harm(milvus, owner, copied):
    edit(owner, copied)

    assert backend_changes_apply() > 0
    assert backend_changes_apply() == 0
    assert stored(milvus, copied) == set(IndexEntry.objects.values_list("pk", flat=True))


def test_deleting_wins_over_whatever_waits_before_and_after_it(milvus, owner, common, copied):
    ingest(owner, common, a="a second text")
    delete(owner, copied)
    CHANGES["tags"](owner, copied)

    backend_changes_apply()

    assert stored(milvus, copied) == set()
    assert not BackendChange.objects.exists()


def test_changes_wait_while_milvus_is_down_and_are_applied_when_it_is_back(milvus, owner, copied, monkeypatch):
    def down(*args, **kwargs):
        raise BackendUnavailableError

    delete(owner, copied)
    monkeypatch.setattr(backend_sync, "documents_write", down)

    assert backend_changes_apply() == 0
    waiting = BackendChange.objects.count()
    monkeypatch.undo()
    assert backend_changes_apply() == 0, "it is left alone for a while"
    cache.delete(backend_sync.PAUSE_KEY)  # the while is over
    assert backend_changes_apply() == waiting > 0
    assert stored(milvus, copied) == set()


def test_pauses_grow_with_every_failure_up_to_five_minutes(milvus, copied, monkeypatch):
    pauses = []
    monkeypatch.setattr(
        backend_sync, "enqueue_on_commit", lambda name, *, countdown_seconds: pauses.append(countdown_seconds)
    )

    for _ in range(12):
        backend_sync._pause()

    assert pauses[:4] == [3, 5, 9, 17]
    assert pauses[-1] == 301


def test_a_document_that_is_refused_does_not_hold_up_the_others(milvus, owner, common, copied, monkeypatch):
    other = ingest(owner, common, b="delta")["b"]
    real = backend_sync.entries_upsert

    def picky(collection, entries):
        if any(entry.document_id == copied.pk for entry in entries):
            raise BackendRefusedError("milvus", method="insert", problem="too long")
        real(collection, entries)

    monkeypatch.setattr(backend_sync, "entries_upsert", picky)
    CHANGES["tags"](owner, copied)

    backend_changes_apply()

    assert len(stored(milvus, other)) == 1
    [left] = BackendChange.objects.all()
    assert (left.document_id, left.attempts) == (copied.pk, 1)
    assert left.not_before > timezone.now()
    assert backend_outbox.changes_waiting(tenant_id=owner.tenant_id) == (1, 1)


def test_tenants_that_are_not_moved_leave_nothing_in_the_outbox(milvus, owner, copied):
    tenant = make_tenant()
    BackendChange.objects.create(tenant_id=tenant.pk, document_id=1)
    moving = make_tenant()
    TenantBackend.objects.create(tenant=moving, collection=milvus)
    BackendChange.objects.create(tenant_id=moving.pk, document_id=2)

    backend_changes_apply()

    assert list(BackendChange.objects.values_list("document_id", flat=True)) == [2]


def test_without_another_backend_one_change_a_document_is_kept(settings, owner, copied):
    for tag in ("x", "y", "z"):
        Document.objects.filter(pk=copied.pk).update(tags=[tag])
    settings.SEARCH_BACKEND = "postgres"

    assert backend_changes_apply() == 0

    assert BackendChange.objects.count() == 1


def test_a_change_calls_the_task_that_applies_it(
    settings, owner, document, monkeypatch, django_capture_on_commit_callbacks
):
    sent = []
    monkeypatch.setattr("knowledge.queue._send", lambda name, kwargs, options: sent.append((name, options["queue"])))
    for backend in ("postgres", "milvus"):
        settings.SEARCH_BACKEND = backend
        with django_capture_on_commit_callbacks(execute=True):
            set_delete(scope=scope_of(owner), actor=owner, set_id=make_set(owners=[owner]).pk)

    assert sent == [("knowledge.apply_backend_changes", "chat")]


def test_a_second_writer_goes_at_once(milvus, owner, copied):
    delete(owner, copied)
    beside = connection.copy()
    with beside.cursor() as cursor:
        cursor.execute(statements.TRY_SESSION, {"name": "ragsite.backend"})
        assert backend_changes_apply() == 0
        cursor.execute(statements.UNLOCK_SESSION, {"name": "ragsite.backend"})
    beside.close()

    assert backend_changes_apply() > 0


# ── the rows ──


def test_entries_are_read_as_they_were_written(owner, common):
    made = ingest(owner, common, clearance=3, a="alpha beta gamma 随机接入")["a"]
    Document.objects.filter(pk=made.pk).update(tags=["t1", "资料"])
    entry = IndexEntry.objects.get()

    [read] = backend_outbox.entries_of_tenant(tenant_id=owner.tenant_id, model=live_model(), after=0, limit=10)

    assert (read.id, read.chunk_id, read.document_id) == (entry.pk, entry.chunk_id, made.pk)
    assert (read.clearance, list(read.tags), list(read.sets)) == (3, ["t1", "资料"], [common.pk])
    assert read.vector.tolist() == pytest.approx(list(WholeVector.objects.get().vector), abs=1e-6)
    with connection.cursor() as cursor:
        cursor.execute("SELECT bm25::text FROM knowledge_indexentry")
        text = cursor.fetchone()[0]
    pairs = dict(pair.split(":") for pair in text[1 : text.index("}")].split(","))
    assert {str(i): pytest.approx(w) for i, w in read.weights.items()} == {i: float(w) for i, w in pairs.items()}
    assert (
        backend_outbox.entries_of_tenant(tenant_id=owner.tenant_id, model=live_model(), after=entry.pk, limit=10) == []
    )


@pytest.mark.usefixtures("milvus")
def test_errors_of_milvus_become_ours():
    with pytest.raises(BackendRefusedError):
        collection.call("query", seconds=3, collection_name="tests", filter="nonsense ==", output_fields=["id"])
