"""Evaluation runs, worked off as workers would."""

from __future__ import annotations

from evaluation.models import EvaluationRun
from evaluation.services.runs.lifecycle import run_job
from tests.work.contract import work_off
from work.models import Job


def job_of(run: EvaluationRun) -> Job:
    """The job of a run that has one."""
    job = run_job(run=run)
    assert job is not None
    return job


def run_work_off(run: EvaluationRun) -> EvaluationRun:
    """The run when no worker finds anything to do any more."""
    work_off(job_of(run))
    run.refresh_from_db()
    return run
