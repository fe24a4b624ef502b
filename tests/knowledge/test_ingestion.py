"""From bytes to live entries."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.errors import NotAllowedError
from accounts.models import AuditEvent
from knowledge.errors import ClearanceTooHighError, UploadTooLargeError
from knowledge.models import Chunk, Document, IndexEntry, IngestItem, LexicalStatistics, Source, Term
from knowledge.selectors import corpus_epoch, job_get
from knowledge.services import (
    document_delete,
    document_retry,
    documents_bulk,
    ingestion_advance,
    leases_sweep,
)
from knowledge.services.ingestion import advance, item_state
from notifications.models import Notification
from ragcore.errors import EmptyDocumentError, ModelUnavailableError
from ragcore.parsing.parser_errors import UnsupportedFormatError
from tests.factories import ingest, make_set, make_user, reweighed, run_job, scope_of
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db


def recounted():
    """In how many live passages each term occurs, counted from scratch."""
    passages = {}
    for entry in IndexEntry.objects.filter(version__live_for__deleted=None, version__live_for__isnull=False):
        for lexeme in str(entry.lexemes).replace("'", "").split():
            passages.setdefault(int(lexeme), set()).add(entry.chunk_id)
    return {term: len(chunks) for term, chunks in passages.items()}


def stored():
    return {t.pk: t.frequency for t in Term.objects.filter(frequency__gt=0)}


def test_an_uploaded_file_becomes_live_with_chunks_and_entries(owner, common):
    uploaded = upload(owner, common)

    run_job(uploaded.job.pk)

    document = Document.objects.get(pk=uploaded.document.pk)
    assert document.state == "live"
    assert document.live_version.markdown.startswith("# Title")
    assert Chunk.objects.filter(version=document.live_version).count() == 1
    assert IndexEntry.objects.filter(version=document.live_version).count() == 1
    assert job_get(scope=scope_of(owner), job_id=uploaded.job.pk).state == "succeeded"


def test_the_same_bytes_twice_are_one_record_with_both_sets(owner, common):
    second = make_set("second", owners=[owner])
    first = upload(owner, common)

    again = upload(owner, second, name="copy.md", tags=["5G"], clearance=2)

    assert again.document.pk == first.document.pk
    assert (again.duplicate, again.job) == (True, None)
    document = Document.objects.get(pk=first.document.pk)
    assert set(document.sets.all()) == {common, second}
    assert (document.tags, document.clearance) == (["5G"], 2)


def test_a_duplicate_is_not_told_to_someone_who_may_not_see_it(owner, common):
    clerk = make_user(clearance=1)
    own = make_set("own", owners=[clerk])
    upload(owner, common, clearance=3)

    again = upload(clerk, own)

    assert again.duplicate is False


def test_new_bytes_under_an_external_id_are_a_new_version(owner, common):
    ingest(owner, common, spec="The old timer lasts five seconds.")

    documents = ingest(owner, common, spec="The new timer lasts nine seconds.")

    document = documents["spec"]
    assert [v.number for v in document.versions.order_by("number")] == [1, 2]
    assert document.live_version.number == 2
    assert document.versions.get(number=1).retired is not None
    assert stored() == recounted()


def test_statistics_equal_a_recount_after_additions_changes_and_deletions(owner, common):
    ingest(owner, common, a="alpha beta beta gamma", b="beta delta", zh="随机接入过程需要前导码")
    documents = ingest(owner, common, a="alpha epsilon", c="gamma gamma")

    document_delete(scope=scope_of(owner), actor=owner, document_id=documents["c"].pk)

    assert stored() == recounted()
    totals = {s.language: (s.entries, s.total_length) for s in LexicalStatistics.objects.all()}
    for language, (entries, length) in totals.items():
        live = IndexEntry.objects.filter(
            language=language, version__live_for__isnull=False, version__live_for__deleted=None
        )
        assert (entries, length) == (live.count(), sum(live.values_list("length", flat=True)))


def test_rebuilding_document_sides_changes_weights_as_if_freshly_computed(owner, common):
    ingest(owner, common, short="alpha beta")
    ingest(owner, common, long="alpha " + "beta gamma delta epsilon zeta eta theta " * 30)
    statistics = LexicalStatistics.objects.get()
    average = statistics.total_length / statistics.entries

    reweighed(statistics)

    statistics.refresh_from_db()
    assert statistics.reference_length == pytest.approx(average)
    entry = IndexEntry.objects.order_by("length").first()
    tf, length = 1, entry.length
    expected = tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / average))
    assert max(entry.bm25.values()) == pytest.approx(expected, rel=0.3)


def test_every_change_makes_cached_answers_stale(owner, common):
    before = corpus_epoch(scope=scope_of(owner))

    documents = ingest(owner, common, a="alpha")
    between = corpus_epoch(scope=scope_of(owner))
    document_delete(scope=scope_of(owner), actor=owner, document_id=documents["a"].pk)

    assert before < between < corpus_epoch(scope=scope_of(owner))


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("empty.txt", b"", EmptyDocumentError),
        ("program.exe", b"MZ", UnsupportedFormatError),
        ("large.txt", b"x" * 2048, UploadTooLargeError),
    ],
)
def test_bad_files_are_refused_at_the_door(owner, common, settings, name, content, error):
    settings.MAX_UPLOAD_BYTES = 1024

    with pytest.raises(error):
        upload(owner, common, name=name, content=content)

    assert not Document.objects.exists()


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("broken.docx", b"PK\x03\x04 this is no archive", "corrupt_document"),
        ("broken.pdf", b"%PDF-1.7 and then nothing", "corrupt_document"),
        ("blank.txt", b"   \n \n", "empty_document"),
    ],
)
def test_bad_content_fails_with_its_reason_and_nothing_is_left_half_visible(owner, common, name, content, code):
    uploaded = upload(owner, common, name=name, content=content)

    run_job(uploaded.job.pk)

    document = Document.objects.get(pk=uploaded.document.pk)
    assert (document.state, document.error_code) == ("failed", code)
    assert document.error_message
    status = job_get(scope=scope_of(owner), job_id=uploaded.job.pk)
    assert (status.state, status.failed, status.errors[0]["code"]) == ("failed", 1, code)
    assert not IndexEntry.objects.exists()


def test_who_sent_documents_is_told_once_that_some_failed(owner, common):
    owner.is_staff = True
    owner.save()
    lines = [{"external_id": name, "text": "<p> </p>", "format": "html", "sets": [common.pk]} for name in ("a", "b")]
    loaded = documents_bulk(scope=scope_of(owner), actor=owner, lines=[json.dumps(line).encode() for line in lines])

    run_job(loaded.job_id)

    told = Notification.objects.get()
    assert (told.recipient, told.kind) == (owner, "ingestion.failed")
    assert str(loaded.job_id) in told.link


def test_a_failed_new_version_leaves_the_old_one_live(owner, common):
    upload_one = upload(owner, common, name="a.md", content=b"good text", external_id="x")
    run_job(upload_one.job.pk)

    second = upload(owner, common, name="a.pdf", content=b"%PDF-1.7 broken", external_id="x")
    run_job(second.job.pk)

    document = Document.objects.get(pk=upload_one.document.pk)
    assert (document.state, document.live_version.number, document.error_code) == ("live", 1, "corrupt_document")


def test_a_bad_document_does_not_take_its_batch_along(owner, common):
    lines = [
        json.dumps({"external_id": "good", "text": "fine", "sets": [common.pk]}).encode(),
        json.dumps({"external_id": "empty html", "text": "<p> </p>", "format": "html", "sets": [common.pk]}).encode(),
    ]

    accepted = documents_bulk(scope=scope_of(owner), actor=owner, lines=lines)
    run_job(accepted.job_id)

    status = job_get(scope=scope_of(owner), job_id=accepted.job_id)
    assert (status.state, status.done, status.failed) == ("partial", 1, 1)


def test_bad_lines_are_reported_with_their_number_and_the_others_taken(owner, common):
    lines = [
        b'{"external_id": "a", "text": "fine", "sets": [%d]}' % common.pk,
        b"not json",
        b"",
        b'{"external_id": "b", "text": "x", "colour": "red"}',
        b'{"external_id": "c", "text": "x", "sets": [999999]}',
        b'{"external_id": "", "text": "x"}',
        b'{"external_id": "d", "text": "nul \\u0000 here"}',
    ]

    accepted = documents_bulk(scope=scope_of(owner), actor=owner, lines=lines)

    assert accepted.accepted == 1
    assert [(r.line, r.code) for r in accepted.rejected] == [
        (2, "invalid_line"),
        (4, "invalid_line"),
        (5, "not_found"),
        (6, "invalid_line"),
        (7, "invalid_line"),
    ]


def test_only_owners_may_add_documents(common):
    stranger = make_user()

    with pytest.raises(NotAllowedError):
        upload(stranger, common)


def test_nobody_may_classify_above_their_own_clearance(common):
    clerk = make_user(clearance=1)
    common.owners.add(clerk)

    with pytest.raises(ClearanceTooHighError):
        upload(clerk, common, clearance=2)


def hours(number):
    return timedelta(hours=number)


class Unreachable:
    model = "unreachable"

    def embed_documents(self, texts):
        raise ModelUnavailableError


def test_a_passing_fault_puts_an_item_off_and_loses_nothing(owner, common, monkeypatch):
    uploaded = upload(owner, common)
    with monkeypatch.context() as patch:
        patch.setattr("knowledge.services.ingestion.chunk_and_represent.embedder", Unreachable)
        ingestion_advance(job_id=uploaded.job.pk)

    item = IngestItem.objects.get(job=uploaded.job)
    assert item.finished is None
    assert item.not_before > timezone.now()
    assert item.error_code == "model_unavailable"

    IngestItem.objects.update(not_before=timezone.now())
    ingestion_advance(job_id=uploaded.job.pk)

    assert Document.objects.get(pk=uploaded.document.pk).state == "live"


@pytest.mark.full
def test_a_model_server_that_is_away_for_hours_loses_nothing(owner, common, monkeypatch):
    uploaded = upload(owner, common)
    with monkeypatch.context() as patch:
        patch.setattr("knowledge.services.ingestion.chunk_and_represent.embedder", Unreachable)
        for hours_ago in range(20):
            IngestItem.objects.update(not_before=timezone.now(), waiting_since=timezone.now() - hours(hours_ago))
            ingestion_advance(job_id=uploaded.job.pk)

    waiting = IngestItem.objects.get(job=uploaded.job)
    assert (waiting.finished, waiting.error_code, waiting.losses) == (None, "model_unavailable", 0)
    assert waiting.not_before <= timezone.now() + timedelta(seconds=item_state.LONGEST_PAUSE_SECONDS * 1.25)
    IngestItem.objects.update(not_before=timezone.now())
    run_job(uploaded.job.pk)
    assert Document.objects.get(pk=uploaded.document.pk).state == "live"


def test_a_passing_fault_that_does_not_pass_within_a_day_ends_with_its_reason(owner, common, monkeypatch):
    uploaded = upload(owner, common)
    monkeypatch.setattr("knowledge.services.ingestion.chunk_and_represent.embedder", Unreachable)
    ingestion_advance(job_id=uploaded.job.pk)

    IngestItem.objects.update(not_before=timezone.now(), waiting_since=timezone.now() - hours(25))
    ingestion_advance(job_id=uploaded.job.pk)

    assert Document.objects.get(pk=uploaded.document.pk).error_code == "model_unavailable"


def test_a_held_item_is_not_taken_by_a_second_worker(owner, common):
    uploaded = upload(owner, common)
    IngestItem.objects.update(lease_until=timezone.now() + timedelta(seconds=60), attempt=1)

    assert ingestion_advance(job_id=uploaded.job.pk) == 0


def test_the_sweeper_finds_expired_leases_and_lost_messages(owner, common):
    lost, expired, fresh = (upload(owner, common, content=f"text {i}".encode()) for i in range(3))
    IngestItem.objects.filter(job=expired.job).update(lease_until=timezone.now() - timedelta(seconds=1), attempt=1)
    lost.job.__class__.objects.filter(pk=lost.job.pk).update(created=timezone.now() - timedelta(minutes=5))

    assert leases_sweep() == sorted([lost.job.pk, expired.job.pk])
    assert fresh.job.pk not in leases_sweep()


def test_an_unexpected_fault_fails_the_item_and_is_logged(owner, common, monkeypatch, caplog):
    uploaded = upload(owner, common)

    def explode(*args):
        raise RuntimeError("boom")

    monkeypatch.setattr(advance, "item_read", explode)
    ingestion_advance(job_id=uploaded.job.pk)

    document = Document.objects.get(pk=uploaded.document.pk)
    assert document.error_code == "ingestion_fault"
    assert "boom" not in document.error_message
    assert "boom" in caplog.text


def test_a_failed_document_can_be_retried(owner, common, monkeypatch):
    uploaded = upload(owner, common)
    with monkeypatch.context() as patch:
        patch.setattr(advance, "item_read", lambda *args: 1 / 0)
        ingestion_advance(job_id=uploaded.job.pk)

    job = document_retry(scope=scope_of(owner), actor=owner, document_id=uploaded.document.pk)
    run_job(job.pk)

    assert Document.objects.get(pk=uploaded.document.pk).state == "live"


def test_a_document_deleted_while_it_is_read_never_becomes_visible(owner, common):
    uploaded = upload(owner, common)
    document_delete(scope=scope_of(owner), actor=owner, document_id=uploaded.document.pk)

    run_job(uploaded.job.pk)

    document = Document.objects.get(pk=uploaded.document.pk)
    assert (document.state, document.live_version) == ("deleted", None)
    assert stored() == recounted() == {}


@pytest.mark.parametrize(("kind", "is_open"), [("upload", True), ("api", True), ("folder", False), ("webhook", False)])
def test_a_source_that_lost_its_owner_takes_documents_from_administrators_only(kind, is_open):
    owner = make_user()
    kept = make_set(owners=[owner])
    Source.objects.create(tenant=owner.tenant, name="left", kind=kind)

    if is_open:
        assert upload(owner, kept, source="left").document.source.name == "left"
    else:
        with pytest.raises(NotAllowedError):
            upload(owner, kept, source="left")


def test_uploads_are_recorded_once_for_each_job(owner, common):
    first = upload(owner, common, name="guide.md", content=b"# Guide")
    upload(owner, common, name="guide-2.md", content=b"# Guide 2", new_version_of=first.document.pk)
    upload(owner, common, name="copy.md", content=b"# Guide 2")  # the same bytes: nothing was added
    rows = [{"external_id": name, "text": name, "sets": [common.pk]} for name in ("a", "b")]
    loaded = documents_bulk(scope=scope_of(owner), actor=owner, lines=[json.dumps(row).encode() for row in rows])

    events = AuditEvent.objects.filter(action__startswith="document").order_by("pk")

    assert [event.action for event in events] == ["document.upload", "document.version", "documents.upload"]
    assert (events[1].target, events[1].data["document"]) == (first.document.title, first.document.pk)
    assert (events[2].data["job"], events[2].data["documents"]) == (loaded.job_id, 2)
