"""The way of a document through the queues: reading, character recognition, describing and embedding."""

import gzip
from datetime import timedelta
from io import BytesIO

import pytest
from django.utils import timezone
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from knowledge.models import Chunk, Document, DocumentPicture, DocumentVersion, IngestItem, KnowledgeSet
from knowledge.selectors import job_get
from knowledge.services import documents_bulk, ingestion_advance, leases_sweep, rendition_make
from knowledge.services.ingestion import advance, item_state, parse_and_ocr, rendition
from knowledge.services.ingestion.item_state import items_claim
from knowledge.services.ingestion.parse_cache import (
    ParsedVersion,
    parse_cache_load,
    parse_cache_save,
    reading_fingerprint,
)
from ragcore.errors import CorruptDocumentError, RecognitionUnavailableError, ResourceLimitError
from ragcore.options import ParsingOptions
from ragcore.types import Block, ParsedDocument, RecognisedLine
from tests.factories import ingest, run_job, scope_of
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db


class ScriptedRecogniser:
    """Reads the same line from every picture, or raises."""

    name = "scripted"

    def __init__(self, *, text="The alarm lamp is red.", error=None):
        self.text, self.error, self.pictures = text, error, 0

    def recognise(self, pixels):
        self.pictures += 1
        if self.error:
            raise self.error
        height = pixels.height
        line = {"x0": 0.1 * pixels.width, "x1": 0.9 * pixels.width, "y0": 0.4 * height, "y1": 0.45 * height}
        return [RecognisedLine(text=self.text, score=0.99, **line)]


@pytest.fixture
def recogniser(monkeypatch):
    scripted = ScriptedRecogniser()
    monkeypatch.setattr(parse_and_ocr, "recogniser", lambda: scripted)
    return scripted


def picture(side=400):
    """A grey square with a black one in it, so that it is not blank."""
    drawn = Image.new("L", (side, side), 200)
    drawn.paste(0, (side // 4, side // 4, side // 2, side // 2))
    return drawn


def pdf(*pages):
    """A page for each text; None is a scan."""
    target = BytesIO()
    canvas = Canvas(target)
    for text in pages:
        if text is None:
            canvas.drawImage(ImageReader(picture()), 50, 300, 450, 450)
        else:
            canvas.drawString(72, 720, text)
        canvas.showPage()
    canvas.save()
    return target.getvalue()


def item():
    return IngestItem.objects.get()


# ── character recognition ───────────────────────────────────────────────────────────────────────


def test_a_scan_is_handed_from_queue_to_queue_and_becomes_live_with_its_text(owner, common, recogniser):
    uploaded = upload(owner, common, name="scan.pdf", content=pdf("The first page is text.", None))
    job_id = uploaded.job.pk

    way = []
    for queue in ("ingest", "ocr", "embed"):
        way.append((item().queue, item().stage))
        ingestion_advance(job_id=job_id, queue=queue)

    assert way == [("ingest", "received"), ("ocr", "parsed"), ("embed", "recognised")]
    version = Document.objects.get().live_version
    assert "The alarm lamp is red." in version.markdown
    assert version.markdown.index("first page") < version.markdown.index("alarm lamp")
    assert version.report["pages_recognised"] == 1
    assert Chunk.objects.filter(version=version, text__contains="alarm lamp").exists()
    assert recogniser.pictures == 1


def test_workers_of_the_text_queues_never_touch_a_scan(owner, common, recogniser):
    uploaded = upload(owner, common, name="scan.pdf", content=pdf(None))
    ingestion_advance(job_id=uploaded.job.pk, queue="ingest")

    for queue in ("ingest", "embed"):
        ingestion_advance(job_id=uploaded.job.pk, queue=queue)

    assert (item().queue, recogniser.pictures) == ("ocr", 0)


def test_pages_that_have_been_read_are_shown_as_progress(owner, common, recogniser):
    uploaded = upload(owner, common, name="scan.pdf", content=pdf(None, None))
    ingestion_advance(job_id=uploaded.job.pk, queue="ingest")
    seen = []
    recognise = recogniser.recognise
    recogniser.recognise = lambda pixels: (
        seen.append((item().progress_done, item().progress_total)) or recognise(pixels)
    )

    ingestion_advance(job_id=uploaded.job.pk, queue="ocr")

    assert seen == [(0, 2), (1, 2)]


def test_a_recogniser_that_is_away_puts_the_scan_off_without_reading_it_again(owner, common, recogniser, monkeypatch):
    recogniser.error = RecognitionUnavailableError()
    uploaded = upload(owner, common, name="scan.pdf", content=pdf(None))
    run_job(uploaded.job.pk)
    assert (item().queue, item().error_code, item().finished) == ("ocr", "recognition_unavailable", None)

    recogniser.error = None
    monkeypatch.setattr(parse_and_ocr, "parse_in_sandbox", lambda *args, **kwargs: 1 / 0)
    IngestItem.objects.update(not_before=None)
    run_job(uploaded.job.pk)

    assert Document.objects.get().state == "live"


def test_a_scan_without_any_text_is_no_success(owner, common, recogniser):
    recogniser.recognise = lambda pixels: []
    uploaded = upload(owner, common, name="scan.pdf", content=pdf(None))

    run_job(uploaded.job.pk)

    assert Document.objects.get().error_code == "empty_document"


def test_a_picture_that_is_too_large_does_not_take_the_text_of_the_other_pages_along(owner, common, recogniser):
    recogniser.error = ResourceLimitError()
    uploaded = upload(owner, common, name="scan.pdf", content=pdf("The first page is text.", None))

    run_job(uploaded.job.pk)

    assert Document.objects.get().live_version.markdown == "The first page is text."


def test_recognition_can_be_switched_off_for_a_set(owner, common, recogniser):
    options = {"parsing": {"recognise_pages": False, "recognise_pictures": False}}
    KnowledgeSet.objects.filter(pk=common.pk).update(options=options)
    uploaded = upload(owner, common, name="scan.pdf", content=pdf("The first page is text.", None))

    run_job(uploaded.job.pk)

    assert (Document.objects.get().state, recogniser.pictures) == ("live", 0)


# ── what is stored between the stages ───────────────────────────────────────────────────────────


def test_a_long_document_is_embedded_by_another_task_from_what_was_stored(owner, common, monkeypatch):
    monkeypatch.setattr(advance, "LONG_CHARACTERS", 10)
    uploaded = upload(owner, common, name="a.pdf", content=pdf("The text of a page."))

    assert ingestion_advance(job_id=uploaded.job.pk, queue="ingest") == 0
    assert (item().queue, item().stage, item().lease_until) == ("embed", "cleaned", None)
    monkeypatch.setattr(parse_and_ocr, "parse_in_sandbox", lambda *args, **kwargs: 1 / 0)

    assert ingestion_advance(job_id=uploaded.job.pk, queue="embed") == 1


def test_what_was_stored_is_used_only_with_the_options_that_it_was_read_with(owner, common):
    version = upload(owner, common, name="a.pdf", content=pdf("One.")).document.versions.get()
    document = ParsedDocument(blocks=(Block(kind="paragraph", text="你好"),), title="T", pages=3)
    mine, other = reading_fingerprint(ParsingOptions()), reading_fingerprint(ParsingOptions(max_pictures=1))

    parse_cache_save(version, ParsedVersion(document=document, recognised=True, pages_recognised=2), fingerprint=mine)

    fresh = DocumentVersion.objects.get(pk=version.pk)
    assert parse_cache_load(fresh, fingerprint=mine) == ParsedVersion(
        document=document, recognised=True, pages_recognised=2
    )
    assert parse_cache_load(fresh, fingerprint=other) is None
    assert (fresh.markdown, fresh.pages) == ("你好", 3)


@pytest.mark.parametrize(
    "damage",
    [b"", b"no gzip", gzip.compress(b"{}\n{}"), gzip.compress(b"[]\n[]")],
    ids=["empty", "no gzip", "objects", "lists"],
)
def test_a_damaged_store_is_read_again_from_the_original(owner, common, damage):
    version = upload(owner, common, name="a.pdf", content=pdf("One.")).document.versions.get()
    document = ParsedDocument(blocks=(Block(kind="paragraph", text="x"),))
    parse_cache_save(version, ParsedVersion(document=document, recognised=True), fingerprint="f")
    with version.parsed.storage.open(version.parsed.name, "wb") as file:
        file.write(damage)

    assert parse_cache_load(version, fingerprint="f") is None


def test_small_texts_are_not_stored_twice(owner, common):
    ingest(owner, common, note="A note about beams.")

    version = DocumentVersion.objects.get()
    assert (version.parsed.name, version.markdown) == ("", "A note about beams.")


def test_pictures_of_a_document_are_kept_as_files(owner, common, recogniser):
    drawn = BytesIO()
    picture().save(drawn, "PNG")
    uploaded = upload(owner, common, name="photo.png", content=drawn.getvalue())

    run_job(uploaded.job.pk)

    kept = DocumentPicture.objects.get()
    assert kept.media_type == "image/png"
    assert kept.file.read() == drawn.getvalue()
    assert f"(picture:{kept.name})" in Document.objects.get().live_version.markdown


def test_pictures_that_nobody_wants_to_see_are_dropped_after_reading(owner, common, recogniser):
    KnowledgeSet.objects.filter(pk=common.pk).update(options={"parsing": {"keep_pictures": False}})
    drawn = BytesIO()
    picture().save(drawn, "PNG")
    uploaded = upload(owner, common, name="photo.png", content=drawn.getvalue())

    run_job(uploaded.job.pk)

    assert recogniser.pictures == 1
    assert not DocumentPicture.objects.exists()


# ── workers that end ────────────────────────────────────────────────────────────────────────────


def expire_leases():
    IngestItem.objects.exclude(lease_until=None).update(lease_until=timezone.now() - timedelta(seconds=1))


def test_an_item_whose_worker_was_lost_is_taken_alone(owner, common, monkeypatch):
    rows = [f'{{"external_id": "{i}", "text": "Note {i}", "sets": [{common.pk}]}}'.encode() for i in range(5)]
    job_id = documents_bulk(scope=scope_of(owner), actor=owner, lines=rows).job_id
    assert len(items_claim(job_id=job_id)) == 5
    expire_leases()

    batches = []
    while batch := items_claim(job_id=job_id):
        batches.append([(one.version.document.external_id, one.losses) for one in batch])

    assert batches == [[(str(i), 1)] for i in range(5)]


def test_a_document_that_ends_its_worker_again_and_again_is_set_aside(owner, common):
    uploaded = upload(owner, common)
    for _ in range(parse_and_ocr.MAX_LOSSES + 1):
        assert items_claim(job_id=uploaded.job.pk)
        expire_leases()

    run_job(uploaded.job.pk)

    assert Document.objects.get().error_code == "worker_lost"


def test_a_batch_is_bounded_in_bytes_but_takes_one_document_of_any_size(owner, common, monkeypatch):
    monkeypatch.setattr(item_state, "BATCH_BYTES", 10)
    rows = [f'{{"external_id": "{i}", "text": "Note number {i}", "sets": [{common.pk}]}}'.encode() for i in range(2)]
    job_id = documents_bulk(scope=scope_of(owner), actor=owner, lines=rows).job_id

    assert [len(items_claim(job_id=job_id)) for _ in range(3)] == [1, 1, 0]


def test_the_sweeper_calls_the_workers_of_the_right_queue(
    owner, common, monkeypatch, django_capture_on_commit_callbacks
):
    sent = []
    monkeypatch.setattr("knowledge.queue._send", lambda name, kwargs, options: sent.append(options["queue"]))
    uploaded = upload(owner, common)
    IngestItem.objects.update(queue="ocr", lease_until=timezone.now() - timedelta(seconds=1), attempt=1)

    with django_capture_on_commit_callbacks(execute=True):
        assert leases_sweep() == [uploaded.job.pk]

    assert sent == ["ocr"]


def test_a_scan_at_work_does_not_hide_that_the_text_beside_it_was_forgotten(owner, common):
    uploaded = upload(owner, common)
    second = upload(owner, common, content=b"another text")
    IngestItem.objects.filter(job=second.job).update(job=uploaded.job)
    now = timezone.now()
    scan, text = IngestItem.objects.order_by("id")
    IngestItem.objects.filter(pk=scan.pk).update(
        queue="ocr", lease_until=now + timedelta(seconds=60), heartbeat=now, attempt=1
    )
    IngestItem.objects.filter(pk=text.pk).update(lease_until=now - timedelta(seconds=1), attempt=1)

    assert leases_sweep() == [uploaded.job.pk]


# ── renditions ──────────────────────────────────────────────────────────────────────────────────


def office_file(owner, common):
    """A live version that calls itself a presentation."""
    document = ingest(owner, common, talk="A talk about beams.")["talk"]
    DocumentVersion.objects.filter(pk=document.live_version_id).update(file_name="talk.pptx")
    return document.live_version


def test_a_rendition_is_kept_with_the_version(owner, common, monkeypatch):
    version = office_file(owner, common)
    monkeypatch.setattr(rendition, "pdf_rendition", lambda content, name: b"%PDF-1.7 " + content)

    assert rendition_make(version_id=version.pk) is True

    version.refresh_from_db()
    assert version.rendition.read() == b"%PDF-1.7 A talk about beams."
    assert rendition_make(version_id=version.pk) is False


def test_a_document_that_cannot_be_rendered_stays_live_and_says_so_in_its_report(owner, common, monkeypatch):
    def fails(content, name):
        raise CorruptDocumentError

    version = office_file(owner, common)
    monkeypatch.setattr(rendition, "pdf_rendition", fails)

    assert rendition_make(version_id=version.pk) is False

    version.refresh_from_db()
    assert (version.report["rendition"], version.report["passages"]) == ("corrupt_document", 1)
    assert job_get(scope=scope_of(owner), job_id=item().job_id).state == "succeeded"


def test_only_office_documents_are_rendered_and_after_everything_else(
    owner, common, monkeypatch, django_capture_on_commit_callbacks
):
    sent = []
    monkeypatch.setattr("knowledge.queue._send", lambda name, kwargs, options: sent.append((name, options["priority"])))
    with django_capture_on_commit_callbacks(execute=True):
        for name in ("a.pptx", "b.pdf"):
            rendition.rendition_enqueue(DocumentVersion(pk=1, file_name=name))

    assert sent == [("knowledge.render_version", 9)]
