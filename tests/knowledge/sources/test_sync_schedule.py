"""When runs start, and what becomes of those whose worker died."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from knowledge.models import Document, IngestJob, Source, SyncRun
from knowledge.selectors import job_get
from knowledge.services import job_cancel
from knowledge.services.sources import run_open, source_run_start, sources_start_due
from knowledge.services.sources.sync_runs import RunReport, next_run_after, report_store, source_claim
from knowledge.services.sources.web import fetch_open
from tests.factories import make_admin, scope_of
from tests.knowledge.sources.building import folder_source, here, run, site, sync_run, work_of
from tests.work.contract import KindContract, lease_lapse
from work.claims import job_claim, job_fail, jobs_sweep
from work.models import Job
from work.runner import slice_run
from work.services import work_retry

pytestmark = pytest.mark.django_db


@pytest.fixture
def source(owner, shelf):
    (shelf / "a.txt").write_text("one")
    return folder_source(owner, shelf, schedule="hourly")


def test_a_new_source_with_a_schedule_is_due_at_once_and_later_again(source):
    [job_id] = sources_start_due()
    assert sources_start_due() == []

    sync_run(job_id=job_id)

    source.refresh_from_db()
    assert timedelta(minutes=55) < source.next_run - timezone.now() < timedelta(minutes=67)
    assert SyncRun.objects.get(job=job_id).trigger == "schedule"


@pytest.mark.parametrize("change", [{"enabled": False}, {"schedule": "manual"}, {"next_run": None}])
def test_what_is_not_to_run_by_itself_does_not(source, change):
    Source.objects.filter(pk=source.pk).update(**change)

    assert sources_start_due() == []


@pytest.mark.parametrize(("schedule", "hours"), [("hourly", 1), ("daily", 24), ("weekly", 168)])
def test_the_next_run_comes_after_the_interval_and_a_little(schedule, hours):
    now = timezone.now()

    pauses = {next_run_after(schedule, now) - now for _ in range(20)}

    assert all(timedelta(hours=hours) <= pause <= timedelta(hours=hours * 1.1) for pause in pauses)
    assert len(pauses) > 1


def test_a_run_that_waits_already_is_not_started_twice(owner, source):
    first = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)

    assert source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk) == first


def test_two_runs_of_one_source_do_not_go_on_at_once(owner, source):
    first = claimed(run_open(sources=[source], actor=owner, trigger="person"))
    second = run_open(sources=[source], actor=owner, trigger="person")

    done = sync_run(job_id=second.pk)

    assert [note["code"] for note in done.report["notes"]] == ["source_running"]
    assert done.report["found"] == 0
    slice_run(job_id=lapsed(first).pk)
    assert source.documents.count() == 1


def claimed(job):
    """The background job, whose worker has begun to read its source."""
    work = job_claim(job_id=work_of(job.pk).pk)
    assert source_claim(source_id=work.arguments["sources"][0], job=work)
    return work


def lapsed(work):
    lease_lapse(work)
    return work


def test_a_run_whose_worker_died_is_taken_up_again(owner, source):
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)
    work = claimed(job)
    assert sync_run(job_id=job.pk).run.state == "running"  # somebody is at it
    assert jobs_sweep() == 0

    lease_lapse(work)

    assert jobs_sweep() == 1
    done = sync_run(job_id=job.pk)
    assert (done.run.state, done.report["new"]) == ("done", 1)
    source.refresh_from_db()
    assert source.outcome == "succeeded"


def test_counts_of_an_attempt_that_was_broken_off_are_not_counted_twice(owner, source):
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)
    report = RunReport(found=7, left_out=3)
    report_store(job.pk, report)
    lease_lapse(claimed(job))

    done = sync_run(job_id=job.pk)

    assert (done.report["found"], done.report["left_out"], done.report["new"]) == (1, 0, 1)


def test_a_source_whose_run_was_cancelled_in_the_middle_runs_again_by_its_schedule(owner, source):
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)
    claimed(job)
    Source.objects.update(next_run=timezone.now())
    assert sources_start_due() == []
    job_cancel(scope=scope_of(owner), actor=owner, job_id=job.pk)
    Source.objects.update(next_run=timezone.now())

    [again] = sources_start_due()

    assert again != job.pk
    assert sync_run(job_id=again).report["new"] == 1


def test_a_run_that_has_failed_says_so_on_its_source_and_its_job(owner, source, monkeypatch):
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)
    work = claimed(job)

    job_fail(work, None)

    source.refresh_from_db()
    assert (source.outcome, source.message_data["code"]) == ("failed", "broken_off")
    status = job_get(scope=scope_of(owner), job_id=job.pk)
    assert (status.state, [error["code"] for error in status.errors]) == ("failed", ["broken_off"])
    work_retry(scope=scope_of(owner), actor=owner, job_id=work.pk)
    assert sync_run(job_id=job.pk).report["faults"] == []


def test_a_cancelled_run_does_nothing_more(owner, source):
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)
    job_cancel(scope=scope_of(owner), actor=owner, job_id=job.pk)

    sync_run(job_id=job.pk)

    assert not source.documents.exists()


def test_a_source_that_was_removed_meanwhile_ends_its_run_in_peace(owner, source):
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)
    source.delete()

    assert sync_run(job_id=job.pk).run.state == "done"


def test_an_unexpected_fault_is_said_without_its_details(owner, source, monkeypatch):
    def broken(*args, **kwargs):
        raise ValueError("a secret path")

    monkeypatch.setattr("knowledge.jobs.sync_sources.listed_items", broken)

    job = run(owner, source)

    assert [fault["code"] for fault in job.report["faults"]] == ["ingestion_fault"]
    source.refresh_from_db()
    assert source.outcome == "failed"
    assert "secret" not in source.message
    assert source.next_run > timezone.now()


def test_the_worker_knows_the_tasks_by_the_names_that_are_sent(owner, source):
    from knowledge import tasks
    from knowledge.queue import QUEUES, SETTLE_SOURCE, START_DUE_SOURCES

    tasks.start_due_sources()
    job = IngestJob.objects.get(source=source)
    sync_run(job_id=job.pk)
    tasks.settle_source(source_id=source.pk)

    assert source.documents.count() == 1
    names = {tasks.start_due_sources.name, tasks.settle_source.name}
    assert names == {START_DUE_SOURCES, SETTLE_SOURCE} <= QUEUES.keys()


# ── as background jobs ──────────────────────────────────────────────────────────────────────────


class TestRunsOfSources(KindContract):
    """Two sources of one run."""

    @pytest.fixture(autouse=True)
    def _shelves(self, shelf: Path) -> None:
        self.shelf = shelf

    def start(self) -> Job:
        owner = make_admin(f"owner{Job.objects.count()}")
        sources = []
        for name in ("left", "right"):
            (folder := self.shelf / name).mkdir(exist_ok=True)
            (folder / "a.txt").write_text(f"The note on the {name}.")
            sources.append(folder_source(owner, folder, name=name))
        return work_of(run_open(sources=sources, actor=owner, trigger="person").pk)

    def outcome(self, job: Job) -> Any:
        ingest_job = IngestJob.objects.get(pk=job.arguments["job_id"])
        sources = Source.objects.filter(pk__in=job.arguments["sources"]).order_by("pk")
        counts = {name: ingest_job.report[name] for name in ("found", "new", "faults", "notes")}
        return [here(source) for source in sources], counts, ingest_job.items.count()

    def whole(self) -> Any:
        return [["a.txt"], ["a.txt"]], {"found": 2, "new": 2, "faults": [], "notes": []}, 2


class TestFetchedPages(KindContract):
    """A page of this machine."""

    @pytest.fixture(autouse=True)
    def _site(self, settings: Any) -> Iterator[None]:
        settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)
        with site({"/p": b"<p>A page.</p>"}) as url:
            self.url = f"{url}/p"
            yield

    def start(self) -> Job:
        owner = make_admin(f"owner{Job.objects.count()}")
        request = {"url": self.url, "title": "", "clearance": 0}
        return work_of(fetch_open(tenant_id=owner.tenant_id, actor=owner, request=request).pk)

    def outcome(self, job: Job) -> Any:
        ingest_job = IngestJob.objects.get(pk=job.arguments["job_id"])
        pages = Document.objects.filter(versions__items__job=ingest_job)
        return [page.external_id for page in pages], ingest_job.report["new"], ingest_job.report["faults"]

    def whole(self) -> Any:
        return [self.url], 1, []
