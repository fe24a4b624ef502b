"""Celery tasks of background work: ids in, services called."""

from __future__ import annotations

from celery import shared_task

from work.claims import jobs_sweep
from work.queue import RUN_SLICE, START_DUE, SWEEP_JOBS
from work.runner import slice_run
from work.upkeep import due_start


@shared_task(name=RUN_SLICE)
def run_slice(*, job_id: int, attempt: int | None = None) -> None:
    """Run a job for one slice."""
    slice_run(job_id=job_id, attempt=attempt)


@shared_task(name=SWEEP_JOBS)
def sweep_jobs() -> None:
    """Call workers to jobs that lost theirs."""
    jobs_sweep()


@shared_task(name=START_DUE)
def start_due(*, kind: str = "") -> None:
    """Queue work that nobody asks for and that is to be done now, of one kind or of all."""
    due_start(kind=kind)
