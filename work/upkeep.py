"""Work that nobody asks for: what the kinds name as due is started, each subject as the one job that it has.

A job that is done begins anew in its row, so that the table does not grow; its checkpoint says what need not be looked
at again.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from work.claims import is_free
from work.kinds import DueWork, JobKind, kind_get, kinds
from work.models import Job, State
from work.runner import slice_run
from work.services import job_move, work_start

REST = timedelta(minutes=5)  # of a job that has failed or that somebody has cancelled


def due_start(*, kind: str = "", subject: str | None = None, at_once: bool = False) -> list[Job]:
    """Queue what is due of a kind or of all; gives what was queued now. `subject`: only this one.

    `at_once`: also what has failed a moment ago.
    """
    due = ((each, work) for each in ([kind_get(kind)] if kind else kinds()) for work in each.due())
    started = (_begin(each, work, at_once=at_once) for each, work in due if subject in (None, work.subject))
    return [job for job in started if job is not None]


def due_run(*, kind: str) -> None:
    """Run all jobs of a kind that are due or wait to their end in this process, as workers would."""
    due_start(kind=kind, at_once=True)
    for job in Job.objects.filter(is_free(), kind=kind).order_by("pk"):
        while slice_run(job_id=job.pk):
            pass


@transaction.atomic
def _begin(kind: JobKind, work: DueWork, *, at_once: bool) -> Job | None:
    """The job of this subject, queued; None where it is open, or rests."""
    rows = Job.objects.filter(kind=kind.name, tenant_id=work.tenant_id, subject=work.subject)
    latest = rows.first()
    if latest is None:
        start = work_start(
            kind=kind.name,
            tenant_id=work.tenant_id,
            author=None,
            subject=work.subject,
            arguments=work.arguments,
        )
        return start.job if start.is_new else None
    if latest.is_open or (not at_once and _rests(latest)):
        return None
    job = rows.select_for_update(no_key=True).filter(pk=latest.pk, attempt=latest.attempt, state=latest.state).first()
    if job is None:
        return None
    job.arguments, job.started = dict(work.arguments), None
    job.save(update_fields=["arguments", "started"])
    job_move(job, State.QUEUED)
    return job


def _rests(job: Job) -> bool:
    is_recent = job.finished is not None and job.finished > timezone.now() - REST
    return job.state in (State.FAILED, State.CANCELLED) and is_recent
