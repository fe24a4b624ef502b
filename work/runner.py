"""Runs one slice of a job: claim → run → checkpoints → release."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from django.db import DatabaseError, connection
from django.utils import timezone

from ragcore.errors import RagError, TransientError
from work.claims import LEASE, job_claim, job_fail, job_finish, job_put_off, job_release, jobs_call_next
from work.errors import JobLostError
from work.faults import known_fault
from work.fencing import job_held, job_writing
from work.kinds import Checkpoint, JobKind, kind_get
from work.leases import lease_extend
from work.models import Job, State
from work.signs_of_life import signs_of_life

logger = logging.getLogger(__name__)
clock = time.monotonic


def slice_run(
    *,
    job_id: int,
    attempt: int | None = None,
    in_turn: bool = True,
    seconds: float | None = None,
    on_checkpoint: Callable[[Job], object] | None = None,
) -> bool:
    """Run a job for one slice; False where there was nothing to claim. `on_checkpoint` is called after each, with it.

    The slice takes `seconds`; None: as its kind says. `in_turn`: only while fewer jobs of its kind run than may at
    once. The worker may end at any point: what was not stored with a checkpoint is done again by the next one.
    """
    job = job_claim(job_id=job_id, attempt=attempt, in_turn=in_turn)
    if job is None:
        return False
    kind = kind_get(job.kind)
    try:
        _run(job, kind, seconds=kind.slice_seconds if seconds is None else seconds, on_checkpoint=on_checkpoint)
    except JobLostError:
        logger.info("%s is in other hands; what this worker had begun is dropped", job)
    except Exception as error:
        fault = known_fault(error)
        logger.warning("%s: %s", job, error, exc_info=fault is None)
        _end_by_fault(job, kind, fault)
    jobs_call_next(job.kind)
    return True


def _run(job: Job, kind: JobKind, *, seconds: float, on_checkpoint: Callable[[Job], object] | None) -> None:
    ends = clock() + seconds if kind.counts_loading else None
    with (
        signs_of_life(lambda: lease_extend(job_held(job), duration=LEASE), limit_seconds=kind.hang_seconds) as pulse,
        closing(kind.run(job)) as checkpoints,  # type: ignore[type-var]  # kinds write generators
    ):
        for checkpoint in checkpoints:
            checkpoint_store(job, checkpoint)
            pulse.checkpoint()
            if on_checkpoint is not None:
                on_checkpoint(job)
            if checkpoint.is_last:
                return
            ends = ends if ends is not None else clock() + seconds
            if clock() >= ends or checkpoint.rest_seconds:
                job_release(job, rest_seconds=checkpoint.rest_seconds)
                return
    job_finish(job)


def checkpoint_store(job: Job, checkpoint: Checkpoint) -> None:
    """Store what a job has reached together with what the checkpoint writes; the lease begins anew.

    Raises JobLostError, and nothing is stored, where the job is in other hands.
    """
    with job_writing(job):
        new_figures = checkpoint.write() if checkpoint.write is not None else None
        values = _values(job, checkpoint, new_figures or {})
        Job.objects.filter(pk=job.pk).update(**values)
    for name, value in values.items():
        setattr(job, name, value)


def _values(job: Job, checkpoint: Checkpoint, new_figures: Any) -> dict[str, Any]:
    now = timezone.now()
    values: dict[str, Any] = {
        "lease_until": now + LEASE,
        "figures": {**job.figures, **checkpoint.figures, **new_figures},
    }
    for name in ("done", "total"):
        if (value := getattr(checkpoint, name)) is not None:
            values[name] = value
    if checkpoint.data is not None and dict(checkpoint.data) != job.checkpoint:
        values |= {"checkpoint": dict(checkpoint.data), "failures": 0, "error_code": "", "error_data": {}}
    if checkpoint.is_last:
        ended = {"state": State.DONE, "lease_until": None, "finished": now}
        values |= {**ended, "failures": 0, "error_code": "", "error_data": {}}
    return values


def _end_by_fault(job: Job, kind: JobKind, error: RagError | None) -> None:
    """Try a passing fault again later, and one that nobody knows as often as its kind says; else it is a verdict."""
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()
    try:
        most = kind.most_failures if isinstance(error, TransientError) else kind.most_unknown_failures
        passes = error is None or isinstance(error, TransientError)
        if passes and job.failures + 1 < most:
            seconds = min(kind.retry_seconds * 2**job.failures, kind.longest_retry_seconds)
            job_put_off(job, seconds=seconds, error=error)
        else:
            job_fail(job, error)
    except DatabaseError as unwritten:
        logger.warning("%s: its fault could not be stored, and its lease lapses: %s", job, unwritten)
