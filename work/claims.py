"""Claims and leases of jobs: which one is free, who holds it, and calls to the next worker.

A job that waits for the worker that was called is not lost: calling another one each minute would put ever more tasks
of one job into the queue, and all others would wait for them. `called` says when the last call was made.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from ragcore.errors import RagError
from work.errors import AuthorGoneError, InterruptedAgainError, UnknownKindError
from work.fencing import job_held
from work.kinds import kind_get
from work.leases import lease_begin, lease_end
from work.models import UNKNOWN, Job, State
from work.queue import slice_enqueue

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=60)  # several signs of life; a worker that has died is replaced after that
CALL_LASTS = timedelta(minutes=5)  # a call that no worker has heard by then was lost with its broker


def is_free() -> Q:
    """Condition on jobs: a worker may claim them."""
    now = timezone.now()
    is_due = Q(not_before=None) | Q(not_before__lte=now)
    return Q(state=State.QUEUED) & is_due | Q(state=State.RUNNING, lease_until__lt=now)


def is_lost() -> Q:
    """Condition on jobs: no worker holds them, and none is on its way."""
    return is_free() & (Q(called=None) | Q(called__lt=timezone.now() - CALL_LASTS))


@transaction.atomic
def job_claim(*, job_id: int, attempt: int | None = None, in_turn: bool = True) -> Job | None:
    """Claim a job for this worker.

    None where it is over, held by another worker, or no more of this attempt, which a message names, and (`in_turn`)
    where as many others of its kind run as may at once. One whose worker has died counts a failure; one that has lost
    too many, or whose author is gone, fails.
    """
    rows = Job.objects.filter(is_free(), pk=job_id)
    if attempt is not None:
        rows = rows.filter(attempt=attempt)
    if in_turn and (name := rows.values_list("kind", flat=True).first()) and not _has_room(name, job_id):
        return None
    job = rows.select_for_update(no_key=True).first()
    if job is None:
        return None
    is_taken_over = job.state == State.RUNNING
    job.failures += int(is_taken_over)
    job.state, job.called, job.not_before = State.RUNNING, None, None
    job.started = job.started or timezone.now()
    columns = ("failures", "state", "called", "not_before", "started")
    lease_begin(Job, [job], duration=LEASE, **{name: getattr(job, name) for name in columns})
    verdict = _verdict(job)
    if verdict is not None:
        job_fail(job, verdict)
        return None
    return job


def _has_room(name: str, job_id: int) -> bool:
    """Whether another job of a kind may run; until the transaction ends, nobody else claims one of a limited kind."""
    most = kind_limit(name)
    if most is None:
        return True
    rows = Job.objects.filter(kind=name, state__in=(State.QUEUED, State.RUNNING)).order_by("pk")
    now = timezone.now()
    locked = rows.select_for_update(no_key=True).values_list("pk", "state", "lease_until")
    running = [pk for pk, state, until in locked if state == State.RUNNING and until is not None and until > now]
    return len([pk for pk in running if pk != job_id]) < most


def kind_limit(name: str) -> int | None:
    """How many jobs of a kind run at once; None: as many as come, also of a kind that is gone."""
    try:
        return kind_get(name).at_once
    except UnknownKindError:
        return None


def jobs_call_next(name: str) -> None:
    """Call workers to those jobs of a limited kind that wait longest, after another one has ended its slice."""
    if most := kind_limit(name):
        for job in Job.objects.filter(is_free(), kind=name, state=State.QUEUED).order_by("pk")[:most]:
            job_call(job)


def _verdict(job: Job) -> RagError | None:
    """Why no worker should run a job that was just claimed."""
    try:
        kind = kind_get(job.kind)
    except UnknownKindError as error:
        return error
    if job.failures >= kind.most_failures:
        return InterruptedAgainError()
    author = job.author
    is_gone = kind.needs_author if author is None else kind.ends_with_author and not author.is_active
    return AuthorGoneError() if is_gone else None


@transaction.atomic
def job_release(job: Job, *, rest_seconds: float = 0.0) -> None:
    """Let the next worker of the queue have the job, after a rest; nothing where somebody else has it already."""
    not_before = timezone.now() + timedelta(seconds=rest_seconds) if rest_seconds else None
    if lease_end(job_held(job), state=State.QUEUED, not_before=not_before):
        job_call(job, countdown_seconds=rest_seconds)


@transaction.atomic
def job_put_off(job: Job, *, seconds: float, error: RagError | None) -> None:
    """Have the job tried again later; None: after a fault that only the log describes."""
    not_before = timezone.now() + timedelta(seconds=seconds)
    fault = {**error_columns(error), "failures": job.failures + 1}
    if lease_end(job_held(job), state=State.QUEUED, not_before=not_before, **fault):
        job_call(job, countdown_seconds=seconds)


@transaction.atomic
def job_fail(job: Job, error: RagError | None) -> None:
    """The job has failed; None: by a fault that only the log describes."""
    if lease_end(job_held(job), state=State.FAILED, finished=timezone.now(), **error_columns(error)):
        job.state = State.FAILED
        for name, value in error_columns(error).items():
            setattr(job, name, value)
        kind_told(job)


def error_columns(error: RagError | None) -> dict[str, Any]:
    """How a fault is stored with its job."""
    return {
        "error_code": error.code if error is not None else UNKNOWN,
        "error_data": error.message_data() if error is not None else {},
    }


def kind_told(job: Job) -> None:
    """Tell the kind of a job that its state has changed; a kind that is gone has nothing that shows it."""
    try:
        kind = kind_get(job.kind)
    except UnknownKindError:
        return
    kind.state_changed(job)


def job_finish(job: Job) -> None:
    """The job is done."""
    lease_end(job_held(job), state=State.DONE, finished=timezone.now(), failures=0, error_code="", error_data={})


def job_call(job: Job, *, countdown_seconds: float = 0) -> None:
    """Call a worker to a job that is queued or whose worker is lost, once the transaction is committed."""
    rows = Job.objects.filter(pk=job.pk)
    rows.update(called=timezone.now() + timedelta(seconds=countdown_seconds))
    attempt = rows.values_list("attempt", flat=True).get()
    slice_enqueue(job_id=job.pk, attempt=attempt, queue=kind_get(job.kind).queue, countdown_seconds=countdown_seconds)


def jobs_sweep() -> int:
    """Call a worker to every job that lost its worker or its message; how many. Safe to run twice."""
    lost = list(Job.objects.filter(is_lost()))
    for job in lost:
        try:
            job_call(job)
        except UnknownKindError:
            job_claim(job_id=job.pk)  # which fails it
    if lost:
        logger.warning("workers are called to jobs that lost theirs: %s", [job.pk for job in lost])
    return len(lost)
