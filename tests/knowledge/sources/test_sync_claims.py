"""Runs take turns, and people pause, resume and cancel them at any time."""

from __future__ import annotations

import pytest

from accounts.models import User
from knowledge.errors import JobOverError
from knowledge.models import Document, IngestItem, IngestJob, Source, SyncRun
from knowledge.queue import RUN_SYNC
from knowledge.selectors import job_get
from knowledge.services import documents_bulk, job_cancel, job_pause, job_resume
from knowledge.services.bulk import _Load
from knowledge.services.sources import source_run_start, sync_run
from knowledge.services.sources.sync_runs import (
    FETCHES_AT_ONCE,
    RUNS_AT_ONCE,
    RunReport,
    run_claim,
    run_lease,
    run_release,
)
from knowledge.services.sources.web import fetch_open
from tests.factories import run_job, scope_of
from tests.knowledge.sources.building import folder_source, here
from tests.knowledge.test_ingestion_faults import lines_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def sources(owner, shelf):
    """More sources than may run at once."""
    made = []
    for number in range(RUNS_AT_ONCE + 2):
        folder = shelf / str(number)
        folder.mkdir()
        (folder / "a.txt").write_text(f"Note {number}.")
        made.append(folder_source(owner, folder, name=f"shelf {number}"))
    return made


@pytest.fixture
def sent(monkeypatch):
    """Job ids that runs were called for, in order."""
    ids: list[int] = []

    def note(name, kwargs, options):
        ids.extend([kwargs["job_id"]] if name == RUN_SYNC else [])

    monkeypatch.setattr("knowledge.queue._send", note)
    return ids


def waiting(owner: User, source: Source) -> IngestJob:
    return source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)


def by(person, **more):
    return {"scope": scope_of(person), "actor": person, **more}


# ── turns ───────────────────────────────────────────────────────────────────────────────────────


def test_only_a_few_sources_are_run_at_once(owner, sources):
    jobs = [waiting(owner, source) for source in sources]

    claims = [run_claim(job_id=job.pk) for job in jobs]

    assert [claim is not None for claim in claims] == [True] * RUNS_AT_ONCE + [False] * 2
    assert job_get(scope=scope_of(owner), job_id=jobs[-1].pk).state == "queued"
    run_release(lease=run_lease(claims[0]), report=RunReport())
    assert run_claim(job_id=jobs[-1].pk) is not None


def test_single_pages_do_not_wait_for_sources_and_sources_not_for_pages(owner, sources):
    for source in sources[:RUNS_AT_ONCE]:
        assert run_claim(job_id=waiting(owner, source).pk)
    request = {"url": "http://example.org/", "title": "", "clearance": 0}
    pages = [fetch_open(tenant_id=owner.tenant_id, actor=owner, request=request) for _ in range(FETCHES_AT_ONCE + 1)]

    assert [run_claim(job_id=page.pk) is not None for page in pages] == [True] * FETCHES_AT_ONCE + [False]


def test_whoever_ends_calls_the_next_one(owner, sources, sent, django_capture_on_commit_callbacks):
    first, second, third, fourth = [waiting(owner, source) for source in sources]
    run_claim(job_id=second.pk)

    with django_capture_on_commit_callbacks(execute=True):
        sync_run(job_id=first.pk)

    assert sent == [third.pk, fourth.pk]


def test_a_command_waits_for_nobody(owner, sources):
    for source in sources[:RUNS_AT_ONCE]:
        run_claim(job_id=waiting(owner, source).pk)

    job = sync_run(job_id=waiting(owner, sources[-1]).pk, in_turn=False)

    assert job.run.state == "done"


# ── stopping ────────────────────────────────────────────────────────────────────────────────────


def test_a_run_that_has_brought_nothing_yet_can_be_cancelled(owner, sources):
    job = waiting(owner, sources[0])

    job_cancel(**by(owner, job_id=job.pk))
    sync_run(job_id=job.pk)

    assert here(sources[0]) == []
    assert job_get(scope=scope_of(owner), job_id=job.pk).state == "failed"
    with pytest.raises(JobOverError):
        job_cancel(**by(owner, job_id=job.pk))


def test_a_paused_run_goes_on_when_it_is_resumed(owner, sources, sent, django_capture_on_commit_callbacks):
    job = waiting(owner, sources[0])
    job_pause(**by(owner, job_id=job.pk))
    sync_run(job_id=job.pk)
    assert here(sources[0]) == []

    with django_capture_on_commit_callbacks(execute=True):
        job_resume(**by(owner, job_id=job.pk))
    sync_run(job_id=job.pk)

    assert sent == [job.pk]
    assert here(sources[0]) == ["a.txt"]


def test_a_run_that_is_paused_in_the_middle_waits_and_is_taken_up_again(owner, sources, monkeypatch):
    monkeypatch.setattr("knowledge.services.sources.sync_execution.BEAT_SECONDS", 0)
    job = waiting(owner, sources[0])
    doing_in_the_middle(monkeypatch, lambda: job_pause(**by(owner, job_id=job.pk)))

    sync_run(job_id=job.pk)

    run = SyncRun.objects.get(job=job)
    assert (run.state, run.lease_until) == ("waiting", None)
    job_resume(**by(owner, job_id=job.pk))
    assert sync_run(job_id=job.pk).run.state == "done"


def test_nothing_is_added_to_a_run_that_was_cancelled(owner, sources, monkeypatch):
    (sources_folder(sources[0]) / "b.txt").write_text("Another note.")
    job = waiting(owner, sources[0])
    doing_in_the_middle(monkeypatch, lambda: job_cancel(**by(owner, job_id=job.pk)))

    sync_run(job_id=job.pk)
    run_job(job.pk)

    assert here(sources[0]) == ["a.txt"]
    assert set(IngestItem.objects.filter(job=job).values_list("stage", flat=True)) == {"cancelled"}
    assert set(Document.objects.values_list("state", flat=True)) == {"failed"}


def test_nothing_is_added_to_a_load_that_was_cancelled(owner, common, monkeypatch):
    monkeypatch.setattr("knowledge.services.bulk.BATCH_LINES", 1)

    take = _Load.take

    def take_and_cancel(load, batch):
        take(load, batch)
        job_cancel(**by(owner, job_id=IngestJob.objects.get().pk))

    monkeypatch.setattr(_Load, "take", take_and_cancel)
    with pytest.raises(JobOverError):
        documents_bulk(scope=scope_of(owner), actor=owner, lines=lines_of(common, "a", "b"))

    assert list(Document.objects.values_list("external_id", "state")) == [("a", "failed")]


def doing_in_the_middle(monkeypatch, act):
    """Let something happen once, after the first item of a run."""
    from knowledge.services.sources.sync_items import ItemSync

    take, left = ItemSync.take, [act]

    def taking(self, item):
        done = take(self, item)
        while left:
            left.pop()()
        return done

    monkeypatch.setattr(ItemSync, "take", taking)


def sources_folder(source):
    from pathlib import Path

    return Path(source.location)
