"""Pausing, resuming, cancelling and retrying jobs, and watching their items."""

import json

import pytest

from accounts.errors import NotFoundError
from knowledge.errors import JobOverError
from knowledge.models import Document, IndexEntry, IngestItem, IngestJob
from knowledge.selectors import items_progress, items_readable, job_get
from knowledge.services import (
    document_retry,
    documents_bulk,
    ingestion_advance,
    job_cancel,
    job_pause,
    job_resume,
    job_retry,
    leases_sweep,
)
from knowledge.services.ingestion import advance, chunk_and_represent, item_state
from ragcore.errors import CorruptDocumentError
from tests.factories import ingest, make_user, run_job, scope_of
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db


def load(owner, home, *ids):
    rows = [{"external_id": i, "title": i, "text": f"A note about {i}.", "sets": [home.pk]} for i in ids]
    lines = [json.dumps(row).encode() for row in rows]
    return documents_bulk(scope=scope_of(owner), actor=owner, lines=lines).job_id


def by(person, **more):
    return {"scope": scope_of(person), "actor": person, **more}


class StoppingEmbedder:
    """An embedder that does something to the job in the middle of the work."""

    model = "stopping"

    def __init__(self, real, act):
        self.real, self.act = real, act

    def embed_documents(self, texts):
        self.act()
        return self.real.embed_documents(texts)


def during_embedding(monkeypatch, act):
    """Let something happen while the batch is embedded, just before the next checkpoint."""
    stopping = StoppingEmbedder(chunk_and_represent.embedder(), act)
    monkeypatch.setattr(chunk_and_represent, "embedder", lambda: stopping)
    monkeypatch.setattr(item_state, "RENEW_SECONDS", 0)


# ── pausing ─────────────────────────────────────────────────────────────────────────────────────


def test_a_paused_job_is_worked_on_by_nobody_until_it_is_resumed(owner, common):
    job_id = load(owner, common, "a", "b")

    job_pause(**by(owner, job_id=job_id))

    assert (ingestion_advance(job_id=job_id), leases_sweep()) == (0, [])
    assert job_get(scope=scope_of(owner), job_id=job_id).paused is True
    job_resume(**by(owner, job_id=job_id))
    run_job(job_id)
    assert job_get(scope=scope_of(owner), job_id=job_id).state == "succeeded"


def test_a_running_item_stops_at_the_next_checkpoint_and_goes_on_where_it_was(owner, common, monkeypatch):
    job_id = load(owner, common, "a", "b")
    with monkeypatch.context() as patch:
        during_embedding(patch, lambda: job_pause(**by(owner, job_id=job_id)))
        assert ingestion_advance(job_id=job_id) == 0

    items = IngestItem.objects.filter(job=job_id)
    assert set(items.values_list("lease_until", "finished", "error_code", "losses")) == {(None, None, "", 0)}
    job_resume(**by(owner, job_id=job_id))
    run_job(job_id)
    assert Document.objects.filter(state="live").count() == 2


def test_signs_of_life_that_come_fast_cost_nothing(owner, common, django_assert_num_queries):
    lease = item_state.ItemLease(item_state.items_claim(job_id=load(owner, common, "a")))

    with django_assert_num_queries(0):
        for _ in range(50):
            lease.alive()


def test_resuming_calls_workers_to_each_queue_with_open_items(
    owner, common, monkeypatch, django_capture_on_commit_callbacks
):
    sent = []
    monkeypatch.setattr("knowledge.queue._send", lambda name, kwargs, options: sent.append(options["queue"]))
    job_id = load(owner, common, "a", "b")
    IngestItem.objects.filter(version__document__external_id="b").update(queue="ocr")
    job_pause(**by(owner, job_id=job_id))

    with django_capture_on_commit_callbacks(execute=True):
        job_resume(**by(owner, job_id=job_id))

    assert sent == ["ingest", "ocr"]


# ── cancelling ──────────────────────────────────────────────────────────────────────────────────


def test_a_cancelled_job_is_over_and_says_so_on_its_documents(owner, common):
    job_id = load(owner, common, "a", "b")

    job_cancel(**by(owner, job_id=job_id))
    run_job(job_id)

    status = job_get(scope=scope_of(owner), job_id=job_id)
    assert (status.state, status.cancelled, status.done) == ("failed", 2, 0)
    assert set(Document.objects.values_list("state", "error_code")) == {("failed", "cancelled")}
    assert not IndexEntry.objects.exists()


def test_what_is_live_stays_live_when_the_rest_is_cancelled(owner, common, monkeypatch):
    monkeypatch.setitem(item_state.BATCH_ITEMS, "ingest", 1)
    job_id = load(owner, common, "a", "b")
    ingestion_advance(job_id=job_id, queue="ingest")

    job_cancel(**by(owner, job_id=job_id))

    status = job_get(scope=scope_of(owner), job_id=job_id)
    assert (status.state, status.done, status.cancelled) == ("partial", 1, 1)
    assert set(Document.objects.values_list("external_id", "state")) == {("a", "live"), ("b", "failed")}


def test_a_document_keeps_its_live_version_when_the_new_one_is_cancelled(owner, common):
    ingest(owner, common, spec="The old text.")
    job_id = load(owner, common, "spec")

    job_cancel(**by(owner, job_id=job_id))

    document = Document.objects.get()
    assert (document.state, document.live_version.number, document.error_code) == ("live", 1, "cancelled")


def test_a_job_that_is_cancelled_while_it_is_embedded_is_not_published(owner, common, monkeypatch):
    job_id = load(owner, common, "a")
    during_embedding(monkeypatch, lambda: job_cancel(**by(owner, job_id=job_id)))

    assert ingestion_advance(job_id=job_id) == 0

    assert IngestItem.objects.get().stage == "cancelled"
    assert not IndexEntry.objects.exists()


def test_a_job_that_is_cancelled_at_the_last_moment_is_not_published(owner, common, monkeypatch):
    job_id = load(owner, common, "a")
    publish = advance.versions_publish

    def cancel_first(*args, **kwargs):
        job_cancel(**by(owner, job_id=job_id))
        return publish(*args, **kwargs)

    monkeypatch.setattr(advance, "versions_publish", cancel_first)

    assert ingestion_advance(job_id=job_id) == 0
    assert (IngestItem.objects.get().stage, Document.objects.get().live_version) == ("cancelled", None)
    assert not IndexEntry.objects.exists()


def test_a_job_that_is_over_can_neither_be_paused_nor_cancelled(owner, common):
    job_id = load(owner, common, "a")
    run_job(job_id)

    for change in (job_pause, job_resume, job_cancel):
        with pytest.raises(JobOverError):
            change(**by(owner, job_id=job_id))


def test_the_jobs_of_others_cannot_be_touched(owner, common):
    job_id = load(owner, common, "a")
    stranger = make_user()

    for change in (job_pause, job_resume, job_cancel, job_retry):
        with pytest.raises(NotFoundError):
            change(**by(stranger, job_id=job_id))
    with pytest.raises(NotFoundError):
        items_readable(scope=scope_of(stranger), job_id=job_id)


# ── trying again ────────────────────────────────────────────────────────────────────────────────


def test_what_failed_or_was_cancelled_is_tried_again_in_a_new_job(owner, common, monkeypatch):
    job_id = load(owner, common, "good", "bad", "never")
    read = advance.item_read

    def fails(item, *args):
        if item.version.document.external_id == "bad":
            raise CorruptDocumentError
        return read(item, *args)

    monkeypatch.setitem(item_state.BATCH_ITEMS, "ingest", 2)
    with monkeypatch.context() as patch:
        patch.setattr(advance, "item_read", fails)
        ingestion_advance(job_id=job_id, queue="ingest")
    job_cancel(**by(owner, job_id=job_id))

    again = job_retry(**by(owner, job_id=job_id))
    run_job(again.pk)

    assert again.items.count() == 2
    assert set(Document.objects.values_list("state", "error_code")) == {("live", "")}
    assert job_retry(**by(owner, job_id=job_id)) is None


def test_what_is_being_tried_again_already_is_not_tried_a_third_time(owner, common):
    job_id = load(owner, common, "a", "b")
    job_cancel(**by(owner, job_id=job_id))

    again = job_retry(**by(owner, job_id=job_id))

    assert (again.items.count(), job_retry(**by(owner, job_id=job_id))) == (2, None)


def test_trying_again_asks_no_more_for_more_documents(owner, common, django_assert_max_num_queries):
    job_id = load(owner, common, *"abcdefghijkl")
    job_cancel(**by(owner, job_id=job_id))

    with django_assert_max_num_queries(15):
        assert job_retry(**by(owner, job_id=job_id)).items.count() == 12


@pytest.mark.parametrize("stage", ["parsed", "chunked"])
def test_a_retry_from_a_later_stage_does_not_read_the_original_again(owner, common, monkeypatch, stage):
    uploaded = upload(owner, common, name="a.pdf", content=pdf("The text of a page."))
    with monkeypatch.context() as patch:
        patch.setattr(advance, "texts_embed", lambda *args: 1 / 0)
        ingestion_advance(job_id=uploaded.job.pk)
    monkeypatch.setattr("knowledge.services.ingestion.parse_and_ocr.parse_in_sandbox", lambda *args, **kwargs: 1 / 0)

    job = document_retry(**by(owner, document_id=uploaded.document.pk, stage=stage))
    run_job(job.pk)

    assert Document.objects.get().state == "live"


def test_a_retry_from_the_beginning_reads_the_original_again(owner, common, monkeypatch):
    uploaded = upload(owner, common, name="a.pdf", content=pdf("The text of a page."))
    with monkeypatch.context() as patch:
        patch.setattr(advance, "texts_embed", lambda *args: 1 / 0)
        ingestion_advance(job_id=uploaded.job.pk)
    monkeypatch.setattr("knowledge.services.ingestion.parse_and_ocr.parse_in_sandbox", fail_as_corrupt)

    job = document_retry(**by(owner, document_id=uploaded.document.pk))
    run_job(job.pk)

    assert Document.objects.get().error_code == "corrupt_document"


def fail_as_corrupt(*args, **kwargs):
    raise CorruptDocumentError


def pdf(text):
    from io import BytesIO

    from reportlab.pdfgen.canvas import Canvas

    target = BytesIO()
    canvas = Canvas(target)
    canvas.drawString(72, 720, text)
    canvas.save()
    return target.getvalue()


# ── watching ────────────────────────────────────────────────────────────────────────────────────


def test_items_say_where_they_are_and_how_many_come_before_them(owner, common):
    first, second = load(owner, common, "a", "b"), load(owner, common, "c")
    IngestItem.objects.filter(version__document__external_id="b").update(queue="ocr")

    shown = [p for job in (first, second) for p in progress_of(owner, job)]

    assert [(p.title, p.queue, p.position, p.stage) for p in shown] == [
        ("a", "ingest", 1, "received"),
        ("b", "ocr", 1, "received"),
        ("c", "ingest", 2, "received"),
    ]


def test_items_of_a_paused_job_do_not_stand_in_the_way_of_others(owner, common):
    first, second = load(owner, common, "a"), load(owner, common, "b")

    job_pause(**by(owner, job_id=first))

    assert [p.position for job in (first, second) for p in progress_of(owner, job)] == [None, 1]


def test_the_progress_of_a_long_text_counts_its_passages(owner, common, monkeypatch):
    text = "\n\n".join(f"# Part {n}\n\n" + "A sentence about beams. " * 120 for n in range(3))
    uploaded = upload(owner, common, content=text.encode())
    seen = []
    during_embedding(monkeypatch, lambda: seen.extend(progress_of(owner, uploaded.job.pk)))
    monkeypatch.setattr(chunk_and_represent, "EMBEDDED_TEXTS", 1)

    run_job(uploaded.job.pk)

    total = IndexEntry.objects.count()
    assert total >= 3
    assert [(p.progress_done, p.progress_total) for p in seen][1:] == [(n, total) for n in range(1, total)]
    assert {p.stage for p in seen} == {"represented"}


def progress_of(person, job_id):
    scope = scope_of(person)
    return items_progress(scope=scope, items=list(items_readable(scope=scope, job_id=job_id)))


def test_a_job_knows_of_what_kind_it_is(owner, common):
    assert IngestJob.objects.get(pk=load(owner, common, "a")).kind == "bulk"
    assert upload(owner, common).job.kind == "upload"
