"""Starting background work, and what people do with it: pause, resume, cancel, try again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from work.claims import job_call, kind_told
from work.errors import JobStateError
from work.kinds import kind_get
from work.models import OPEN, Job, State
from work.selectors import jobs_visible

FROM: Final[Mapping[str, tuple[State, ...]]] = MappingProxyType(
    {
        "pause": (State.QUEUED, State.RUNNING),
        "resume": (State.PAUSED,),
        "cancel": OPEN,
        "retry": (State.FAILED, State.CANCELLED),
    }
)  # act → states in which it is possible
TO: Final[Mapping[str, State]] = MappingProxyType(
    {"pause": State.PAUSED, "resume": State.QUEUED, "cancel": State.CANCELLED, "retry": State.QUEUED}
)  # act → state to which it leads


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkStarted:
    """A job, and whether it was made now; else it is the one of this kind and subject that is open."""

    job: Job
    is_new: bool


@transaction.atomic
def work_start(
    *,
    kind: str,
    tenant_id: int,
    author: User | None,
    subject: str = "",
    arguments: Mapping[str, Any] | None = None,
    total: int = 0,
    is_called: bool = True,
) -> WorkStarted:
    """Queue a job, or give the open one of this kind, tenant and subject. Callers check rights and record the start.

    `is_called`: whether a worker is called to it; else the caller runs it, and workers take it up where that fails.
    Raises UnknownKindError.
    """
    kind_get(kind)
    values = {"kind": kind, "tenant_id": tenant_id, "subject": subject}
    try:
        with transaction.atomic():
            job = Job.objects.create(
                **values, author=author, arguments=dict(arguments or {}), total=total, called=timezone.now()
            )
    except IntegrityError:
        return WorkStarted(job=Job.objects.get(**values, state__in=OPEN), is_new=False)
    if is_called:
        job_call(job)
    return WorkStarted(job=job, is_new=True)


def work_record(*, kind: str, tenant_id: int, author: User | None, subject: str = "") -> Job:
    """A job that is done already, because there was nothing to do."""
    now = timezone.now()
    return Job.objects.create(
        kind=kind,
        tenant_id=tenant_id,
        author=author,
        subject=subject,
        state=State.DONE,
        started=now,
        finished=now,
    )


def work_pause(*, scope: Scope, actor: User, job_id: int) -> Job:
    """Stop a job until somebody resumes it; its worker can write nothing more. Raises NotFoundError, JobStateError."""
    return _act(scope=scope, actor=actor, job_id=job_id, act="pause")


def work_resume(*, scope: Scope, actor: User, job_id: int) -> Job:
    """Go on with a paused job from its checkpoint. Raises NotFoundError, JobStateError."""
    return _act(scope=scope, actor=actor, job_id=job_id, act="resume")


def work_cancel(*, scope: Scope, actor: User, job_id: int) -> Job:
    """End a job that is open; its worker can write nothing more. Raises NotFoundError, JobStateError."""
    return _act(scope=scope, actor=actor, job_id=job_id, act="cancel")


def work_retry(*, scope: Scope, actor: User, job_id: int) -> Job:
    """Go on with a failed or cancelled job from its checkpoint.

    Raises NotFoundError, JobStateError, also where another job of the kind and subject is open.
    """
    return _act(scope=scope, actor=actor, job_id=job_id, act="retry")


def job_cancel_now(job: Job) -> bool:
    """Cancel a job, whoever runs it; False where it is over already. Callers check rights."""
    return job_act_now(job, "cancel")


@transaction.atomic
def job_act_now(job: Job, act: str) -> bool:
    """Pause, resume, cancel or retry a job, whoever runs it; False where it is in no state from which that is possible.

    Callers check rights and record it.
    """
    row = Job.objects.select_for_update(no_key=True).filter(pk=job.pk, state__in=FROM[act]).first()
    if row is not None:
        job_move(row, TO[act])
    return row is not None


@transaction.atomic
def _act(*, scope: Scope, actor: User, job_id: int, act: str) -> Job:
    rows = jobs_visible(scope=scope).select_related(None)
    job = rows.select_for_update(no_key=True, of=("self",)).filter(pk=job_id).first()
    if job is None:
        raise NotFoundError("job", job=job_id)
    if job.state not in FROM[act]:
        raise JobStateError
    try:
        with transaction.atomic():
            job_move(job, TO[act])
    except IntegrityError:
        raise JobStateError("open") from None
    audit_record(actor=actor, action=f"work.{act}", target=job.kind, tenant_id=job.tenant_id, run=job.pk)
    return job


def job_move(job: Job, state: State) -> None:
    """Write the state of a locked job; whoever runs it is fenced off by the next attempt."""
    is_over = state == State.CANCELLED
    job.state, job.attempt = state, job.attempt + 1
    job.lease_until = job.called = job.not_before = None
    job.finished = timezone.now() if is_over else None
    fields = ["state", "attempt", "lease_until", "called", "not_before", "finished"]
    if state == State.QUEUED:
        job.failures, job.error_code, job.error_data = 0, "", {}
        fields += ["failures", "error_code", "error_data"]
    job.save(update_fields=fields)
    kind_told(job)
    if state == State.QUEUED:
        job_call(job)
