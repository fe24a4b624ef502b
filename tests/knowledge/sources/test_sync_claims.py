"""Runs take turns, and people pause, resume and cancel them at any time."""

from __future__ import annotations

import pytest

from accounts.models import User
from knowledge.errors import JobOverError
from knowledge.jobs.fetch_page import FetchPage
from knowledge.jobs.sync_sources import SyncSources
from knowledge.models import Document, IngestItem, IngestJob, Source, SyncRun
from knowledge.selectors import job_get
from knowledge.services import documents_bulk, job_cancel, job_pause, job_resume
from knowledge.services.bulk import _Load
from knowledge.services.sources import source_run_start
from knowledge.services.sources.web import fetch_open
from tests.factories import run_job, scope_of
from tests.knowledge.sources.building import folder_source, here, sync_run, work_of
from tests.knowledge.test_ingestion_faults import lines_of
from work.claims import job_claim, job_release
from work.models import Job

AT_ONCE = SyncSources.at_once
pytestmark = pytest.mark.django_db


@pytest.fixture
def sources(owner, shelf):
    """More sources than may run at once."""
    made = []
    for number in range(AT_ONCE + 2):
        folder = shelf / str(number)
        folder.mkdir()
        (folder / "a.txt").write_text(f"Note {number}.")
        made.append(folder_source(owner, folder, name=f"shelf {number}"))
    return made


def waiting(owner: User, source: Source) -> IngestJob:
    return source_run_start(scope=scope_of(owner), actor=owner, source_id=source.pk)


def by(person, **more):
    return {"scope": scope_of(person), "actor": person, **more}


# ── turns ───────────────────────────────────────────────────────────────────────────────────────


def claimed(job: IngestJob) -> Job | None:
    """By a worker that is at it."""
    return job_claim(job_id=work_of(job.pk).pk)


def test_only_a_few_sources_are_read_at_once(owner, sources):
    jobs = [waiting(owner, source) for source in sources]

    claims = [claimed(job) for job in jobs]

    assert [claim is not None for claim in claims] == [True] * AT_ONCE + [False] * 2
    assert job_get(scope=scope_of(owner), job_id=jobs[-1].pk).state == "queued"
    job_release(claims[0], rest_seconds=60)
    assert claimed(jobs[-1]) is not None


def test_single_pages_do_not_wait_for_sources_and_sources_not_for_pages(owner, sources):
    for source in sources[:AT_ONCE]:
        assert claimed(waiting(owner, source))
    request = {"url": "http://example.org/", "title": "", "clearance": 0}
    pages = [fetch_open(tenant_id=owner.tenant_id, actor=owner, request=request) for _ in range(FetchPage.at_once + 1)]

    assert [claimed(page) is not None for page in pages] == [True] * FetchPage.at_once + [False]


def test_whoever_ends_calls_the_next_ones(owner, sources, monkeypatch):
    first, second, third, fourth = [waiting(owner, source) for source in sources]
    claimed(second)
    calls = []
    monkeypatch.setattr("work.claims.slice_enqueue", lambda **values: calls.append(values["job_id"]))

    sync_run(job_id=first.pk)

    assert calls == [work_of(third.pk).pk, work_of(fourth.pk).pk]


def test_a_command_waits_for_nobody(owner, sources):
    for source in sources[:AT_ONCE]:
        claimed(waiting(owner, source))

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


def test_a_paused_run_goes_on_when_it_is_resumed(owner, sources):
    job = waiting(owner, sources[0])
    job_pause(**by(owner, job_id=job.pk))
    sync_run(job_id=job.pk)
    assert here(sources[0]) == []

    job_resume(**by(owner, job_id=job.pk))
    sync_run(job_id=job.pk)

    assert here(sources[0]) == ["a.txt"]


def test_a_run_that_is_paused_in_the_middle_waits_and_is_taken_up_again(owner, sources, monkeypatch):
    monkeypatch.setattr("knowledge.jobs.sync_sources.STORE_SECONDS", 0)
    job = waiting(owner, sources[0])
    doing_in_the_middle(monkeypatch, lambda: job_pause(**by(owner, job_id=job.pk)))

    sync_run(job_id=job.pk)

    assert SyncRun.objects.get(job=job).state == "waiting"
    sources[0].refresh_from_db()
    assert (sources[0].outcome, sources[0].message_data) == ("failed", {"code": "run_ended"})
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
