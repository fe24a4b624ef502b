"""Work that computes for long keeps its lease, is ended when it takes too long, and others take up what hangs."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from knowledge.file_errors import StorageFullError
from knowledge.models import Document, IngestItem
from knowledge.services import ingestion_advance
from knowledge.services.ingestion import advance, chunk_and_represent, parse_and_ocr
from knowledge.services.ingestion.item_state import ItemLease, items_claim
from ragcore.deadline import DeadlinePassedError, deadline
from ragcore.errors import EmptyDocumentError
from tests.knowledge.uploads import upload
from work.faults import MachineBusyError, StoreUnavailableError, known_fault
from work.signs_of_life import signs_of_life


def spin(seconds: float) -> None:
    """Compute, in Python, without any checkpoint."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def test_signs_are_given_until_the_work_is_done():
    enough = threading.Event()
    beats: list[float] = []

    def beat():
        beats.append(time.monotonic())
        if len(beats) == 3:
            enough.set()

    with signs_of_life(beat, limit_seconds=60, every_seconds=0.01):
        assert enough.wait(20)
    after = len(beats)

    assert not [thread for thread in threading.enumerate() if thread.name == "signs of life"]
    assert len(beats) == after


def test_work_that_hangs_gives_none_and_a_checkpoint_begins_its_time_anew():
    beats: list[int] = []
    with signs_of_life(lambda: beats.append(1), limit_seconds=0.0, every_seconds=0.001):
        for thread in [thread for thread in threading.enumerate() if thread.name == "signs of life"]:
            thread.join(20)
            assert not thread.is_alive()
    assert beats == []

    with signs_of_life(lambda: None, limit_seconds=60) as pulse:
        assert not pulse.hangs


def test_a_database_that_fails_does_not_end_the_signs():
    again = threading.Event()
    faults = iter((OperationalError("away"),))

    def beat():
        for fault in faults:
            raise fault
        again.set()

    with signs_of_life(beat, limit_seconds=60, every_seconds=0.01):
        assert again.wait(20)


@pytest.mark.django_db(transaction=True)
def test_a_document_that_is_computed_for_longer_than_its_lease_is_taken_by_nobody_else(owner, common, monkeypatch):
    """The lease lasts for half a second, its stage for three times as long."""
    uploaded = upload(owner, common)
    taken: list[int] = []

    def slow_clean(document, **options):
        spin(1.5)
        taken.append(len(items_claim(job_id=uploaded.job.pk)))
        return real(document, **options)

    real = parse_and_ocr.clean
    monkeypatch.setattr(parse_and_ocr, "clean", slow_clean)
    monkeypatch.setattr("knowledge.services.ingestion.item_state.LEASE_SECONDS", 0.6)
    monkeypatch.setattr(
        advance, "signs_of_life", lambda beat, **values: signs_of_life(beat, **values, every_seconds=0.1)
    )

    assert ingestion_advance(job_id=uploaded.job.pk) == 1

    assert taken == [0]
    item = IngestItem.objects.get()
    assert (item.attempt, item.losses, item.stage) == (1, 0, "live")


@pytest.mark.django_db(transaction=True)
def test_an_extension_is_fenced_and_never_shortens_a_lease(owner, common):
    uploaded = upload(owner, common)
    (item,) = items_claim(job_id=uploaded.job.pk)
    lease = ItemLease([item])
    long = timezone.now() + timedelta(hours=1)
    IngestItem.objects.update(lease_until=long)

    lease.extend()
    assert IngestItem.objects.get().lease_until == long

    IngestItem.objects.update(attempt=item.attempt + 1, lease_until=timezone.now())
    before = IngestItem.objects.get().lease_until
    lease.extend()
    assert IngestItem.objects.get().lease_until == before


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("module", "name"),
    [(parse_and_ocr, "clean"), (chunk_and_represent, "splitter_for"), (chunk_and_represent, "document_represent")],
)
def test_a_step_that_takes_too_long_ends_the_document_with_a_readable_error(owner, common, monkeypatch, module, name):
    uploaded = upload(owner, common)
    monkeypatch.setattr(module, name, lambda *_args, **_values: spin(30))
    monkeypatch.setattr(advance, "STAGE_SECONDS", 0.3)

    begun = time.monotonic()
    assert ingestion_advance(job_id=uploaded.job.pk) == 0

    assert time.monotonic() - begun < 25
    document = Document.objects.get()
    assert (document.state, document.error_code) == ("failed", "stage_too_long")
    assert "took longer than" in document.error_message
    assert IngestItem.objects.get().finished is not None


@pytest.mark.django_db
def test_a_batch_that_takes_too_long_to_embed_is_tried_one_by_one_and_then_fails(owner, common, monkeypatch):
    uploaded = upload(owner, common)
    monkeypatch.setattr(advance, "texts_embed", lambda *_args: spin(30))
    monkeypatch.setattr(advance, "STAGE_SECONDS", 0.5)

    assert ingestion_advance(job_id=uploaded.job.pk) == 0

    assert Document.objects.get().error_code == "stage_too_long"


def test_an_inner_deadline_leaves_the_outer_one_its_time():
    def inner():
        with deadline(0.05):
            spin(20)

    with pytest.raises(DeadlinePassedError):  # noqa: PT012, SIM117 (the inner one is within)
        with deadline(0.4):
            with pytest.raises(DeadlinePassedError):
                inner()
            spin(20)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (OperationalError("away"), StoreUnavailableError),
        (MemoryError(), MachineBusyError),
        (OSError(28, "No space left on device"), StorageFullError),
        (BlockingIOError(11, "Resource temporarily unavailable"), MachineBusyError),
        (EmptyDocumentError(), EmptyDocumentError),
        (FileNotFoundError("original"), type(None)),
        (ValueError("a fault of ours"), type(None)),
    ],
)
def test_it_is_decided_in_one_place_what_passes_by_itself(fault, told):
    assert type(known_fault(fault)) is told
