"""Jobs that keep indexes complete: how they are started, and what people do with them on the page of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from accounts.selectors import site_tenant_id
from work.kinds import DueWork
from work.models import Job
from work.services import job_act_now
from work.upkeep import due_start


def site_work(subjects: Sequence[str]) -> list[DueWork]:
    """Work of the whole site that is due; none where the site has no tenant yet."""
    tenant_id = site_tenant_id()
    return [DueWork(tenant_id=tenant_id, subject=subject) for subject in subjects] if tenant_id is not None else []


def fill_begin(kind: str, subject: str, *, done: int, total: int) -> None:
    """Start the job of a model that is on its way, with `total` entries of which `done` have a vector."""
    for job in due_start(kind=kind, subject=subject, at_once=True):
        Job.objects.filter(pk=job.pk).update(done=done, total=total)


def fill_lock(kind: str, subject: str) -> None:
    """Keep the worker of the job from storing anything until the transaction ends. Call before other rows are locked:
    workers lock the job first.
    """
    list(Job.objects.select_for_update(no_key=True).filter(kind=kind, subject=subject).values_list("pk", flat=True))


def fill_act(kind: str, subject: str, act: str) -> None:
    """Pause, resume or cancel the job, where its state allows that. What is resumed and has no job gets one."""
    job = fill_of(kind, subject)
    if not (job is not None and job_act_now(job, act)) and act == "resume":
        due_start(kind=kind, subject=subject, at_once=True)


def fill_of(kind: str, subject: str) -> Job | None:
    """The job, with progress and the last error; None where it has not been started yet."""
    return fills_of(kind, [subject]).get(subject)


def fills_of(kind: str, subjects: Sequence[str]) -> Mapping[str, Job]:
    """The jobs by their subjects."""
    return {job.subject: job for job in Job.objects.filter(kind=kind, subject__in=subjects).order_by("pk")}
