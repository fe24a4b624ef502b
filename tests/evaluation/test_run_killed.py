"""kill -9 of a worker in the middle of a run: a process of its own dies, another one goes on, no case is done twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connection

from accounts.selectors import scope_for
from evaluation.models import CaseOutcome, RunConfiguration
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from evaluation.services.runs.lifecycle import run_start
from evaluation.services.runs.plans import ConfigurationPlan
from ragsite.embedded.processes import wait_until
from tests.evaluation.runs import job_of, run_work_off
from tests.factories import ingest, make_admin, make_set
from tests.work.contract import lease_lapse
from work.claims import jobs_sweep
from work.models import Job
from work.runner import slice_run

ROOT = Path(__file__).resolve().parents[2]
WORK = """
import django
django.setup()
from work.runner import slice_run
slice_run(job_id={}, seconds=600)
"""
CASES = 80
START_SECONDS = 120  # of a process on a busy machine


@contextmanager
def worker(job: Job) -> Iterator[subprocess.Popen[bytes]]:
    """A process that works on a job in the database of this test."""
    address = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    environment = {**os.environ, "DATABASE_URL": address, "DJANGO_SETTINGS_MODULE": "ragsite.settings"}
    process = subprocess.Popen([sys.executable, "-c", WORK.format(job.pk)], cwd=ROOT, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_run_whose_worker_is_killed_goes_on_and_does_no_case_twice():
    admin = make_admin("admin")
    home = make_set("radio", owners=[admin])
    ingest(admin, home, ca="Carrier aggregation lets a device use several component carriers at once.")
    rows = [GoldenRow(question=f"What is carrier aggregation, number {n}?", relevant=("ca",)) for n in range(CASES)]
    golden = golden_import(tenant=admin.tenant, name="radio", rows=rows).golden_set
    golden.sets.add(home)
    plan = ConfigurationPlan(name="live", component=RunConfiguration.Component.RETRIEVAL)
    run = run_start(scope=scope_for(admin), user=admin, golden_set=golden, configurations=[plan])

    job = job_of(run)
    with worker(job) as process:
        ended = lambda: process.poll() is not None  # noqa: E731
        assert wait_until(CaseOutcome.objects.exists, seconds=START_SECONDS, unless=ended)
        assert not slice_run(job_id=job.pk)  # one worker at a time
        process.kill()
        process.wait()
    done = dict(CaseOutcome.objects.values_list("pk", "created"))
    assert 0 < len(done) < CASES
    assert (jobs_sweep(), slice_run(job_id=job.pk)) == (0, False)  # the lease of the dead still holds

    lease_lapse(job)
    assert jobs_sweep() == 1
    run_work_off(run)

    cases = list(CaseOutcome.objects.values_list("case", flat=True))
    assert (run.state, len(cases), len(set(cases))) == ("done", CASES, CASES)
    assert done.items() <= dict(CaseOutcome.objects.values_list("pk", "created")).items()  # nothing was done anew
    assert run.figures["recall@1"]["cases"] == CASES
