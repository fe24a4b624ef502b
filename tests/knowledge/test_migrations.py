"""Data of earlier schemas is carried over."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from knowledge.models import IngestJob, SyncRun
from knowledge.selectors import job_get
from knowledge.services.sources import sources_start_due, sync_run
from knowledge.services.sources.sync_runs import LEASE_SECONDS
from tests.factories import make_admin, scope_of
from tests.knowledge.sources.building import folder_source

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE = [("knowledge", "0007_options_history")]
COUNTS = {"found": 7, "new": 2, "changed": 1, "left_out": 0, "deleted": 0, "refused_more": 0, "unchanged": 3}
MESSAGES = {"refused": [{"path": "a.bin", "code": "x", "message": "No."}], "faults": [], "notes": []}
EMPTY = {"state": "waiting", "trigger": "", "waiting": [], "request": {}, "heartbeat": 0.0, "token": "", "before": {}}


def migrate(targets):
    executor = MigrationExecutor(connection)
    executor.migrate(targets or executor.loader.graph.leaf_nodes())
    return MigrationExecutor(connection).loader.project_state(targets or None).apps


@pytest.fixture
def owner():
    return make_admin()


@pytest.fixture
def old_jobs(owner):
    """Makes jobs as they were stored before runs had rows; ends with the present schema, whatever happens."""
    made = migrate(BEFORE).get_model("knowledge", "IngestJob").objects

    def make(**state):
        report = {**COUNTS, **MESSAGES, **EMPTY, **state}
        return made.create(tenant_id=owner.tenant_id, created_by_id=owner.pk, kind="sync", report=report).pk

    yield make
    migrate(None)


def test_runs_that_wait_go_on_or_are_over_become_rows(old_jobs, owner, settings, tmp_path):
    beat = time.time() - 20
    waiting = old_jobs(state="waiting", trigger="schedule", waiting=[5, 3], heartbeat=beat)
    running = old_jobs(state="running", trigger="person", waiting=[3], heartbeat=beat, token="abc", before={"found": 4})
    done = old_jobs(state="done", trigger="command", heartbeat=beat)
    fetch = old_jobs(state="waiting", trigger="webhook", request={"url": "https://docs.invalid/p"}, heartbeat=beat)
    archive = old_jobs(state="done", trigger="archive")
    lost = old_jobs(state="running", token="abc", heartbeat=time.time() - LEASE_SECONDS - 1, before={"found": 0})

    migrate(None)

    runs = {run.pk: run for run in SyncRun.objects.all()}
    assert {pk: run.state for pk, run in runs.items()} == {
        waiting: "waiting",
        running: "running",
        done: "done",
        fetch: "waiting",
        lost: "running",
    }
    assert archive not in runs
    assert (runs[waiting].trigger, runs[waiting].pending_sources) == ("schedule", [5, 3])
    assert runs[running].checkpoint == {"found": 4}
    assert runs[running].lease_until - runs[running].heartbeat == timedelta(seconds=LEASE_SECONDS)
    assert runs[running].heartbeat.timestamp() == pytest.approx(beat)
    assert runs[fetch].request == {"url": "https://docs.invalid/p"}
    assert all(job.report == {**COUNTS, **MESSAGES} for job in IngestJob.objects.all())
    check_taken_up_again(owner, settings, tmp_path, job_id=lost)
    status = job_get(scope=scope_of(owner), job_id=done)
    assert (status.state, [error["code"] for error in status.errors]) == ("partial", ["x"])


def check_taken_up_again(owner, settings, folder, *, job_id):
    """A run that a worker of before has lost goes on from where it was."""
    settings.SOURCE_FOLDERS = [str(folder)]
    (folder / "a.txt").write_text("one")
    source = folder_source(owner, folder)
    SyncRun.objects.filter(pk=job_id).update(pending_sources=[source.pk])

    assert job_get(scope=scope_of(owner), job_id=job_id).state == "running"
    assert job_id in sources_start_due()
    done = sync_run(job_id=job_id)

    assert (done.run.state, done.report["found"], done.report["new"]) == ("done", 1, COUNTS["new"] + 1)


def test_the_way_back_writes_runs_into_reports(old_jobs):
    beat = time.time() - 20
    waiting = {"state": "waiting", "trigger": "schedule", "waiting": [5, 3], "heartbeat": beat, "before": {"found": 4}}
    job_id = old_jobs(**waiting)
    archive = old_jobs(state="done", trigger="archive")
    migrate(None)

    old = migrate(BEFORE).get_model("knowledge", "IngestJob").objects

    report = old.get(pk=job_id).report
    assert report.pop("heartbeat") == pytest.approx(beat)
    wanted = {**COUNTS, **MESSAGES, **EMPTY, **waiting}
    assert report == {name: value for name, value in wanted.items() if name != "heartbeat"}
    assert old.get(pk=archive).report == {**COUNTS, **MESSAGES, **EMPTY, "state": "done", "trigger": "archive"}
