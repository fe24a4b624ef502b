"""When runs start, and what becomes of those whose worker died."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from knowledge.models import IngestJob, Source, SyncRun
from knowledge.services.sources import run_open, source_run_start, sources_start_due, sync_run
from knowledge.services.sources.sync_runs import (
    LEASE_SECONDS,
    RunReport,
    next_run_after,
    run_claim,
    run_lease,
    run_store,
    source_claim,
)
from tests.factories import scope_of
from tests.knowledge.sources.building import folder_source, run

pytestmark = pytest.mark.django_db


@pytest.fixture
def source(owner, shelf):
    (shelf / "a.txt").write_text("one")
    return folder_source(owner, shelf, schedule="hourly")


def died(job):
    """The worker of a job ended in the middle, long ago."""
    now = timezone.now()
    SyncRun.objects.filter(job=job).update(
        heartbeat=now - timedelta(seconds=LEASE_SECONDS + 1), lease_until=now - timedelta(seconds=1)
    )
    Source.objects.filter(outcome="running").update(next_run=timezone.now() - timedelta(seconds=1))


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
    assert source_claim(source_id=source.pk)
    job = run_open(sources=[source], actor=owner, trigger="person")

    done = sync_run(job_id=job.pk)

    assert [note["code"] for note in done.report["notes"]] == ["source_running"]
    assert done.report["found"] == 0


def test_a_run_whose_worker_died_is_taken_up_again(owner, source):
    Source.objects.update(next_run=None)
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)
    assert run_claim(job_id=job.pk)
    assert source_claim(source_id=source.pk)
    assert sync_run(job_id=job.pk).run.state == "running"  # somebody seems to be at it

    died(job)

    assert job.pk in sources_start_due()
    done = sync_run(job_id=job.pk)
    assert (done.run.state, done.report["new"]) == ("done", 1)


def test_counts_of_an_attempt_that_was_broken_off_are_not_counted_twice(owner, source):
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)
    run, report = run_claim(job_id=job.pk), RunReport()
    run.checkpoint = report.checkpoint()
    report.found, report.left_out = 7, 3
    run_store(lease=run_lease(run), report=report)
    died(job)

    done = sync_run(job_id=job.pk)

    assert (done.report["found"], done.report["left_out"], done.report["new"]) == (1, 0, 1)


def test_a_message_that_was_lost_is_sent_again(owner, source):
    Source.objects.update(next_run=None)
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)
    assert sources_start_due() == []

    SyncRun.objects.filter(job=job).update(heartbeat=timezone.now() - timedelta(seconds=100))

    assert sources_start_due() == [job.pk]
    assert sources_start_due() == []


def test_a_source_whose_run_was_cancelled_and_lost_runs_again_by_its_schedule(owner, source):
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)
    source_claim(source_id=source.pk)
    died(job)
    IngestJob.objects.filter(pk=job.pk).update(cancelled=timezone.now())

    [again] = sources_start_due()

    assert again != job.pk
    assert sync_run(job_id=again).report["new"] == 1


def test_a_cancelled_run_does_nothing_more(owner, source):
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)
    IngestJob.objects.filter(pk=job.pk).update(cancelled=timezone.now())

    sync_run(job_id=job.pk)

    assert not source.documents.exists()


def test_a_source_that_was_removed_meanwhile_ends_its_run_in_peace(owner, source):
    job = source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)
    source.delete()

    assert sync_run(job_id=job.pk).run.state == "done"


def test_an_unexpected_fault_is_said_without_its_details(owner, source, monkeypatch):
    def broken(*args, **kwargs):
        raise ValueError("a secret path")

    monkeypatch.setattr("knowledge.services.sources.sync_execution.items_of", broken)

    job = run(owner, source)

    assert [fault["code"] for fault in job.report["faults"]] == ["ingestion_fault"]
    source.refresh_from_db()
    assert source.outcome == "failed"
    assert "secret" not in source.message
    assert source.next_run > timezone.now()


def test_the_worker_knows_the_tasks_by_the_names_that_are_sent(owner, source):
    from knowledge import tasks
    from knowledge.queue import QUEUES, RUN_SYNC, SETTLE_SOURCE, START_DUE_SOURCES

    tasks.start_due_sources()
    job = IngestJob.objects.get(source=source)
    tasks.run_sync(job_id=job.pk)
    tasks.settle_source(source_id=source.pk)

    assert source.documents.count() == 1
    names = {tasks.run_sync.name, tasks.start_due_sources.name, tasks.settle_source.name}
    assert names == {RUN_SYNC, START_DUE_SOURCES, SETTLE_SOURCE} <= QUEUES.keys()
