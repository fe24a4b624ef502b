"""Trainings worked off as workers would, and workers that die in the middle of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from evaluation.queue import FIT_RERANKER, TRAIN_ADAPTER
from evaluation.services.trainings import training_jobs
from knowledge.models import QueryAdapter
from tests.work.contract import Killed, lease_lapse, work_off
from work import runner
from work.models import Job
from work.runner import slice_run

Reached = Callable[[Mapping[str, Any]], bool]


def job_of(row) -> Job:
    kind = TRAIN_ADAPTER if isinstance(row, QueryAdapter) else FIT_RERANKER
    return training_jobs([row], kind=kind)[row.pk]


def ended(row):
    """The version after its job."""
    work_off(job_of(row))
    row.refresh_from_db()
    return row


def slices_run(job: Job) -> None:
    while slice_run(job_id=job.pk):
        pass


def died(row, monkeypatch: pytest.MonkeyPatch, reached: Reached) -> Job:
    """The job after a worker that died behind the first checkpoint whose data are such; its lease has lapsed."""
    real, job = runner.checkpoint_store, job_of(row)

    def dying(held, checkpoint):
        real(held, checkpoint)
        if reached(checkpoint.data):
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(runner, "checkpoint_store", dying)
        with pytest.raises(Killed):
            slices_run(job)
    lease_lapse(job)
    job.refresh_from_db()
    row.refresh_from_db()
    return job


def at_round(number: int) -> Reached:
    return lambda data: data.get("round", -1) >= number
