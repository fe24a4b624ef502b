"""What happens to ingestion when workers, requests and the database fail or get in each other's way."""

import json
import threading
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from django.db import OperationalError, connection, connections, transaction
from django.utils import timezone

from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.model_registry import embedder
from knowledge.models import Document, DocumentVersion, IndexEntry, IngestItem, IngestJob
from knowledge.selectors import job_get
from knowledge.selectors.options import pipeline_options
from knowledge.services import documents_bulk, ingestion_advance, leases_sweep
from knowledge.services.ingestion import advance, chunk_and_represent, item_state, parse_and_ocr
from knowledge.services.ingestion.chunk_and_represent import item_represent
from knowledge.services.ingestion.item_state import ItemLease, items_claim
from ragcore.errors import CorruptDocumentError
from tests.factories import ingest, run_job, scope_of
from tests.knowledge.locks import wait_for_lock
from tests.knowledge.uploads import upload
from work.errors import LeaseLostError
from work.faults import StoreUnavailableError

pytestmark = pytest.mark.django_db


def lines_of(home, *ids, text="A note about"):
    return [json.dumps({"external_id": i, "text": f"{text} {i}.", "sets": [home.pk]}).encode() for i in ids]


# ── loads ───────────────────────────────────────────────────────────────────────────────────────


def test_a_load_that_breaks_off_stores_nothing(owner, common):
    def broken():
        yield from lines_of(common, "a", "b")
        raise ConnectionResetError("the client has gone")

    with pytest.raises(ConnectionResetError):
        documents_bulk(scope=scope_of(owner), actor=owner, lines=broken())

    assert not IngestJob.objects.exists()
    assert not Document.objects.exists()


def test_a_load_of_many_batches_is_one_job(owner, common, monkeypatch):
    monkeypatch.setattr("knowledge.services.bulk.BATCH_LINES", 2)

    done = documents_bulk(scope=scope_of(owner), actor=owner, lines=lines_of(common, "a", "b", "c", "d", "e"))

    assert job_get(scope=scope_of(owner), job_id=done.job_id).total == done.accepted == 5


class Loading(threading.Thread):
    """A load in a connection of its own."""

    def __init__(self, owner, lines):
        super().__init__(daemon=True)
        self.owner, self.lines, self.result = owner, lines, None

    def run(self):
        try:
            self.result = documents_bulk(scope=scope_of(self.owner), actor=self.owner, lines=self.lines)
        except OperationalError as error:
            self.result = error
        finally:
            connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_a_load_holds_the_epoch_only_at_its_end_so_that_publishing_goes_on(owner, common):
    documents = ingest(owner, common, a="alpha", b="beta")
    again = Loading(owner, lines_of(common, "a", "b"))

    with transaction.atomic():  # what publishing does: documents, then the epoch
        Document.objects.select_for_update().get(pk=documents["b"].pk)
        again.start()
        wait_for_lock()
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '300ms'")
        epoch_advance(tenant_id=owner.tenant_id)

    again.join(30)
    assert again.result.accepted == 2


@pytest.mark.django_db(transaction=True)
def test_a_load_that_is_the_victim_of_a_deadlock_takes_its_lines_again(owner, common):
    documents = ingest(owner, common, a="alpha", b="beta")
    for _ in range(5):  # on a busy machine the database may choose the other side, which then asks again
        again = Loading(owner, lines_of(common, "a", "b"))
        with suppress(OperationalError), transaction.atomic():
            Document.objects.select_for_update().get(pk=documents["b"].pk)
            again.start()
            wait_for_lock()  # it has "a" and waits first, so it is usually the one that finds the deadlock
            Document.objects.select_for_update().get(pk=documents["a"].pk)
            break
        again.join(30)

    again.join(30)
    assert again.result.accepted == 2
    run_job(again.result.job_id)
    assert documents["a"].versions.count() == documents["b"].versions.count() == 2


# ── workers ─────────────────────────────────────────────────────────────────────────────────────


def test_a_database_that_fails_puts_items_off_and_loses_nothing(owner, common, monkeypatch):
    done = documents_bulk(scope=scope_of(owner), actor=owner, lines=lines_of(common, "a", "b"))

    def down(*args, **kwargs):
        raise OperationalError("deadlock detected")

    for place in ("versions_publish", "item_read"):
        with monkeypatch.context() as patch:
            patch.setattr(advance, place, down)
            ingestion_advance(job_id=done.job_id)
        waiting = IngestItem.objects.filter(finished=None, not_before__gt=timezone.now(), lease_until=None)
        assert set(waiting.values_list("error_code", flat=True)) == {"store_unavailable"}
        assert waiting.count() == 2
        waiting.update(not_before=timezone.now())

    run_job(done.job_id)
    assert job_get(scope=scope_of(owner), job_id=done.job_id).state == "succeeded"


def lease_lost(job_id):
    """The item as its first worker has it, after the lease has expired."""
    (item,) = items_claim(job_id=job_id)
    IngestItem.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    return item


def test_a_worker_that_lost_its_lease_cannot_fail_what_another_one_finished(owner, common):
    uploaded = upload(owner, common)
    slow = lease_lost(uploaded.job.pk)
    ingestion_advance(job_id=uploaded.job.pk)

    item_state.items_put_off_or_fail([slow], CorruptDocumentError())

    status = job_get(scope=scope_of(owner), job_id=uploaded.job.pk)
    assert (status.state, Document.objects.get().error_code) == ("succeeded", "")


def test_a_worker_that_lost_its_lease_does_not_take_the_item_from_its_new_holder(owner, common):
    uploaded = upload(owner, common)
    slow = lease_lost(uploaded.job.pk)
    (mine,) = items_claim(job_id=uploaded.job.pk)

    with pytest.raises(LeaseLostError):
        ItemLease([slow]).alive(seconds=1)
    item_state.items_put_off_or_fail([slow], StoreUnavailableError())

    held = IngestItem.objects.get()
    assert (held.attempt, held.not_before, held.error_code) == (mine.attempt, None, "")
    assert held.lease_until > timezone.now()


def test_two_workers_with_the_same_version_publish_it_once(owner, common):
    uploaded = upload(owner, common)
    slow = lease_lost(uploaded.job.pk)
    options = pipeline_options(documents=[slow.version.document])[slow.version.document_id]
    late = item_represent(parse_and_ocr.item_read(slow, options, ItemLease([slow])), ItemLease([slow]))
    vectors = embedder().embed_documents([r.embedded_text for r in late.representations])
    ingestion_advance(job_id=uploaded.job.pk)

    published = advance.versions_publish([late], vectors, model=embedder().model)

    version = DocumentVersion.objects.get()
    assert (published, version.retired) == (0, None)
    assert IndexEntry.objects.filter(version=version).count() == 1


class Slow:
    """An embedder that takes longer for each text than a lease lasts."""

    model = "slow"
    leases = ()

    def embed_documents(self, texts):
        Slow.leases = (*Slow.leases, IngestItem.objects.get().lease_until > timezone.now())
        IngestItem.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        return np.full((len(texts), 768), 768**-0.5, dtype=np.float32)


def test_a_long_document_keeps_its_lease_while_it_is_embedded(owner, common, monkeypatch):
    monkeypatch.setattr(Slow, "leases", ())
    monkeypatch.setattr(chunk_and_represent, "embedder", Slow)
    monkeypatch.setattr(chunk_and_represent, "EMBEDDED_TEXTS", 1)
    monkeypatch.setattr(item_state, "RENEW_SECONDS", 0)
    text = "\n\n".join(f"# Part {n}\n\n" + "A sentence about beams. " * 120 for n in range(3))
    uploaded = upload(owner, common, content=text.encode())

    ingestion_advance(job_id=uploaded.job.pk)

    assert len(Slow.leases) >= 3
    assert all(Slow.leases)


def test_an_old_version_that_fails_late_says_nothing_about_the_document(owner, common):
    first = upload(owner, common, content=b"one", external_id="x")
    (late,) = items_claim(job_id=first.job.pk)
    second = upload(owner, common, content=b"two", external_id="x")
    run_job(second.job.pk)

    item_state.items_put_off_or_fail([late], CorruptDocumentError())

    document = Document.objects.get()
    assert (document.state, document.error_code, document.live_version.number) == ("live", "", 2)
    assert job_get(scope=scope_of(owner), job_id=first.job.pk).state == "failed"


def test_the_sweeper_leaves_a_job_alone_that_shows_signs_of_life(owner, common):
    done = documents_bulk(scope=scope_of(owner), actor=owner, lines=lines_of(common, *map(str, range(40))))
    IngestJob.objects.update(created=timezone.now() - timedelta(minutes=5))
    items_claim(job_id=done.job_id)

    assert leases_sweep() == []
    IngestItem.objects.exclude(heartbeat=None).update(heartbeat=timezone.now() - timedelta(minutes=1))
    assert leases_sweep() == [done.job_id]


def test_the_sweeper_does_not_pile_up_messages_of_a_job_that_waits_for_its_turn(owner, common):
    uploaded = upload(owner, common)
    IngestJob.objects.update(created=timezone.now() - timedelta(minutes=5))

    assert (leases_sweep(), leases_sweep()) == ([uploaded.job.pk], [])
    IngestJob.objects.update(swept=timezone.now() - timedelta(minutes=5))
    assert leases_sweep() == [uploaded.job.pk]


# ── the same bytes again ────────────────────────────────────────────────────────────────────────


def test_bytes_that_failed_are_tried_again_while_an_older_version_is_live(owner, common, monkeypatch):
    first = upload(owner, common, content=b"one", external_id="x")
    run_job(first.job.pk)
    failed = upload(owner, common, content=b"two", external_id="x")
    with monkeypatch.context() as patch:
        patch.setattr(advance, "item_read", lambda *args: 1 / 0)
        ingestion_advance(job_id=failed.job.pk)

    again = upload(owner, common, content=b"two", external_id="x")
    assert Document.objects.get().error_code == ""
    run_job(again.job.pk)

    assert (again.duplicate, Document.objects.get().live_version.markdown) == (False, "two")


def test_an_original_that_was_left_unfinished_is_not_taken_for_the_whole(owner, common):
    uploaded = upload(owner, common, content=b"the whole text")
    version = DocumentVersion.objects.get()
    Path(version.file.path).write_bytes(b"the wh")
    Document.objects.filter(pk=uploaded.document.pk).update(deleted=timezone.now(), state="deleted")

    again = upload(owner, common, content=b"the whole text")
    run_job(again.job.pk)

    assert Document.objects.get(pk=again.document.pk).live_version.markdown == "the whole text"
