"""Following uploads and jobs: what is said about each item, and what can be done."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone, translation

from accounts.models import User
from knowledge.admin.jobs import progress_of, rows_of, summary_of
from knowledge.models import Document, IngestItem, IngestJob, KnowledgeSet
from tests.admin.conftest import make_document, signed_in
from tests.factories import scope_of

RECENT = "admin:knowledge_document_recent"


@pytest.fixture(autouse=True)
def english():
    """Whatever language an earlier request of this thread was answered in."""
    with translation.override("en"):
        yield


def make_item(user: User, *sets: KnowledgeSet, title: str = "guide", **fields) -> IngestItem:
    """One item of a job of its own."""
    job = IngestJob.objects.create(tenant=sets[0].tenant, created_by=user, **fields.pop("job", {}))
    failed = fields.get("stage") == "failed"
    document = make_document(title, *sets, state="failed" if failed else "processing")
    if failed:
        fields = {"finished": timezone.now(), "error_code": "corrupt_document", "error_message": "Broken.", **fields}
    return IngestItem.objects.create(job=job, version=document.versions.get(), **fields)


# ── words ───────────────────────────────────────────────────────────────────────────────────────


def test_an_item_that_waits_says_its_place(owner, own_set):
    shown = progress_of(make_item(owner, own_set), position=4)

    assert (shown.state, shown.words, shown.position) == ("waiting", "Waiting", 4)


def test_a_document_says_what_it_waits_for_and_how_many_are_before_it(owner, own_set):
    now = timezone.now()
    waits = {"stage": "parsed", "queue": "ocr"}
    make_item(owner, own_set, title="busy", lease_until=now, heartbeat=now, **waits)
    first, item = (make_item(owner, own_set, title=title, **waits) for title in ("first", "second"))
    Document.objects.filter(pk__in=[first.version.document_id, item.version.document_id]).update(live_version=None)
    client = signed_in(owner)

    [row] = rows_of(scope=scope_of(owner), items=[item])
    assert (row.words, row.position, row.busy) == ("Waiting for character recognition (OCR)", 2, 1)
    listed = client.get(reverse("admin:knowledge_document_changelist")).content.decode()
    assert "Processing · Waiting for character recognition (OCR)" in listed
    assert "Processing · Reading images (OCR)" in listed
    page = client.get(reverse("knowledge:document", args=[item.version.document_id])).content.decode()
    assert "It waits for: Character recognition (OCR). 1 document is before it. 1 is being processed there now." in page
    page = client.get(reverse("knowledge:document", args=[first.version.document_id])).content.decode()
    assert "It is next." in page


@pytest.mark.parametrize(
    ("queue", "detail"), [("ocr", "12 of 40 pages"), ("ingest", "12 of 40 pages"), ("embed", "12 of 40 passages")]
)
def test_an_item_in_work_says_how_much_of_its_stage_is_done(owner, own_set, queue, detail):
    now = timezone.now()
    work = {"lease_until": now, "heartbeat": now, "progress_done": 12, "progress_total": 40}

    shown = progress_of(make_item(owner, own_set, stage="parsed", queue=queue, **work))

    assert (shown.state, shown.detail) == ("working", detail)
    assert not shown.silent


def test_the_bar_grows_with_every_stage_and_never_reaches_the_end_too_early(owner, own_set):
    item = make_item(owner, own_set, lease_until=timezone.now())
    shares = []
    for stage in ("received", "parsed", "recognised", "cleaned", "chunked", "represented", "embedded"):
        item.stage = stage
        shares.append(progress_of(item).share)

    assert shares == sorted(set(shares))
    assert shares[-1] < 100


def test_an_item_of_a_deleted_document_is_not_said_to_be_searchable(owner, own_set):
    item = make_item(owner, own_set, stage="live", finished=timezone.now())
    item.version.document.deleted = timezone.now()

    assert (progress_of(item).state, progress_of(item).words) == ("deleted", "Deleted")


def test_errors_are_filtered_by_their_words(administrator, own_set):
    make_item(administrator, own_set, stage="failed")

    page = signed_in(administrator).get(reverse("admin:knowledge_ingestitem_changelist"))

    [errors] = [one for one in page.context["cl"].filter_specs if one.title == "error"]
    shown = [choice["display"] for choice in errors.choices(page.context["cl"])]
    assert "corrupt_document" not in shown
    assert len(shown) == 2


def test_a_worker_that_is_not_heard_of_is_said_to_be_silent(owner, own_set):
    long_ago = timezone.now() - timedelta(minutes=6)

    assert progress_of(make_item(owner, own_set, lease_until=timezone.now(), heartbeat=long_ago)).silent


def test_a_paused_job_keeps_its_items_and_a_cancelled_one_does_not(owner, own_set):
    now = timezone.now()

    assert progress_of(make_item(owner, own_set, job={"paused": now})).state == "paused"
    assert progress_of(make_item(owner, own_set, title="b", job={"cancelled": now})).state == "cancelled"


def test_a_failed_item_can_go_on_from_a_stage_only_where_its_text_is_kept(owner, own_set):
    item = make_item(owner, own_set, stage="failed")
    assert [stage for stage, _words in progress_of(item).stages] == ["received"]

    item.version.parsed = "parsed/1.json.gz"

    assert [stage for stage, _words in progress_of(item).stages] == ["received", "chunked"]


def test_many_items_are_summed_up():
    assert summary_of(["live", "live", "failed", "parsed", "received"]) == "2 searchable · 1 failed · 2 processing"
    assert summary_of([]) == ""


# ── uploads ─────────────────────────────────────────────────────────────────────────────────────


def recent(client) -> list[str]:
    return [shown.item.version.document.title for shown in client.get(reverse(RECENT)).context["rows"]]


def test_a_person_finds_the_own_uploads_again(owner, administrator, own_set):
    make_item(owner, own_set, title="mine")
    make_item(administrator, own_set, title="of somebody else")
    make_item(owner, own_set, title="by a source", job={"kind": "sync"})
    old = make_item(owner, own_set, title="of yesterday")
    IngestJob.objects.filter(pk=old.job_id).update(created=timezone.now() - timedelta(days=1))

    assert recent(signed_in(owner)) == ["mine"]


def test_the_latest_upload_is_the_first(owner, own_set):
    make_item(owner, own_set, title="first")
    make_item(owner, own_set, title="second")

    assert recent(signed_in(owner)) == ["second", "first"]


def test_the_list_says_how_many_are_still_open(owner, own_set):
    make_item(owner, own_set, title="a")
    make_item(owner, own_set, title="b", stage="failed")

    page = signed_in(owner).get(reverse(RECENT))

    assert 'data-open="1"' in page.content.decode()
    assert "1 failed · 1 processing" in page.content.decode()


def test_of_many_uploads_those_that_want_attention_are_shown(owner, own_set, monkeypatch):
    monkeypatch.setattr("knowledge.admin.document_actions.ROWS", 2)
    for title in ("a", "b"):
        make_item(owner, own_set, title=title, stage="live", finished=timezone.now())
    make_item(owner, own_set, title="broken", stage="failed")

    page = signed_in(owner).get(reverse(RECENT))

    assert [shown.item.version.document.title for shown in page.context["rows"]][0] == "broken"
    assert "1 more is not shown" in page.content.decode()


def test_the_list_of_uploads_is_for_curators(reviewer):
    assert signed_in(reviewer).get(reverse(RECENT)).status_code == 403


# ── jobs ────────────────────────────────────────────────────────────────────────────────────────


def act(verb: str, job_id: int) -> str:
    return reverse(f"admin:knowledge_ingestjob_{verb}", args=[job_id])


def test_a_job_is_paused_and_goes_on(owner, own_set):
    job = make_item(owner, own_set).job
    client = signed_in(owner)

    client.post(act("pause", job.pk))
    job.refresh_from_db()
    assert job.paused is not None

    client.post(act("resume", job.pk))
    job.refresh_from_db()
    assert job.paused is None


def test_cancelling_ends_what_is_open(owner, own_set):
    item = make_item(owner, own_set)

    answer = signed_in(owner).post(act("cancel", item.job_id), headers={"Accept": "application/json"})

    assert answer.json()["message"] == "Cancelled. Documents that are already searchable stay."
    item.refresh_from_db()
    assert item.stage == "cancelled"


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel"])
def test_jobs_of_others_do_not_exist(owner, own_set, administrator, other_set, verb):
    item = make_item(administrator, other_set)

    assert signed_in(owner).post(act(verb, item.job_id)).status_code == 404
    item.refresh_from_db()
    assert (item.finished, item.job.paused) == (None, None)


def test_opening_the_address_of_a_button_does_nothing(owner, own_set):
    item = make_item(owner, own_set)

    assert signed_in(owner).get(act("cancel", item.job_id)).status_code == 405
    item.refresh_from_db()
    assert item.finished is None


def test_the_report_of_a_job_tells_counts_and_what_the_source_refused(administrator, own_set):
    report = {"found": 3, "new": 2, "refused": [{"path": "a/b.bin", "code": "unsupported_format", "message": "No."}]}
    item = make_item(administrator, own_set, stage="failed", job={"kind": "sync", "report": report})

    page = signed_in(administrator).get(reverse("admin:knowledge_ingestjob_change", args=[item.job_id]))
    text = page.content.decode()

    assert [(str(words), number) for words, number in page.context["figures"]] == [("found", 3), ("new", 2)]
    assert "a/b.bin" in text
    assert "Broken." in text
    assert page.context["summary"] == "1 failed"


def test_what_failed_in_a_job_is_tried_again_in_a_new_one(owner, own_set):
    item = make_item(owner, own_set, stage="failed")

    signed_in(owner).post(act("retry", item.job_id))

    again = IngestItem.objects.get(finished=None)
    assert (again.version_id, again.job_id == item.job_id) == (item.version_id, False)


def test_a_failed_item_is_tried_again(owner, own_set):
    item = make_item(owner, own_set, stage="failed")
    address = reverse("admin:knowledge_ingestitem_retry", args=[item.pk])

    signed_in(owner).post(address, {"stage": "received"})

    assert item.version.document.__class__.objects.get(pk=item.version.document_id).state == "processing"
    assert IngestItem.objects.filter(version=item.version, finished=None).count() == 1


def test_a_refused_button_says_why_to_the_script(owner, own_set):
    item = make_item(owner, own_set, stage="live", finished=timezone.now())
    item.version.document.live_version = item.version
    item.version.document.save()
    address = reverse("admin:knowledge_ingestitem_retry", args=[item.pk])

    answer = signed_in(owner).post(address, headers={"Accept": "application/json"})

    assert answer.status_code == 409
    assert answer.json()["message"] == "The newest version of this document is already searchable."


def test_the_place_in_the_queue_counts_the_same_queue_only(administrator, own_set):
    for title, queue in (("a", "ocr"), ("b", "ingest"), ("c", "ocr")):
        make_item(administrator, own_set, title=title, queue=queue)
    make_item(administrator, own_set, title="paused", queue="ocr", job={"paused": timezone.now()})

    page = signed_in(administrator).get(reverse("admin:knowledge_ingestitem_changelist"))
    places = {shown.item.version.document.title: shown.position for shown in page.context["rows"]}

    assert places == {"a": 1, "b": 1, "c": 2, "paused": None}


def test_the_ingestion_page_begins_with_what_is_done_then_what_failed_then_the_queue(administrator, own_set):
    now = timezone.now()
    first, second = (make_item(administrator, own_set, title=title) for title in ("first", "second"))
    failed = make_item(administrator, own_set, title="broken", stage="failed")
    working = make_item(administrator, own_set, title="working", lease_until=now, heartbeat=now)

    page = signed_in(administrator).get(reverse("admin:knowledge_ingestitem_changelist"))

    assert [row.item.pk for row in page.context["rows"]] == [working.pk, failed.pk, first.pk, second.pk]


def test_the_list_of_jobs_says_what_each_ingests_and_finds_it(administrator, own_set):
    item = make_item(administrator, own_set, title="valve")
    IngestItem.objects.create(job=item.job, version=make_document("pump", own_set).versions.get())
    make_item(administrator, own_set, title="boiler")
    client = signed_in(administrator)
    address = reverse("admin:knowledge_ingestjob_changelist")

    every, found = client.get(address), client.get(address, {"q": "pump"})

    assert "valve and 1 more" in every.content.decode()
    assert [(job.pk, job.total_count) for job in found.context["cl"].result_list] == [(item.job_id, 2)]


def test_the_report_of_an_upload_names_no_source_and_no_zeros(administrator, own_set):
    job = make_item(administrator, own_set).job
    job.report = {"found": 2, "new": 1, "deleted": 0, "refused": [{"path": "a.bin", "code": "x", "message": "No."}]}
    job.save()

    page = signed_in(administrator).get(reverse("admin:knowledge_ingestjob_change", args=[job.pk]))

    assert [number for _words, number in page.context["figures"]] == [2, 1]
    assert "Rejected" in page.content.decode()


def test_retries_are_said_of_a_document_that_failed_and_not_of_claims_that_went_well(owner, own_set):
    make_item(owner, own_set, title="broken", stage="failed", attempt=4, faults=2)
    make_item(owner, own_set, title="well", stage="live", attempt=3, finished=timezone.now())

    page = signed_in(owner).get(reverse(RECENT)).content.decode()

    assert page.count("retried") == 1
    assert "retried 2 times" in page
    assert "attempt" not in page
