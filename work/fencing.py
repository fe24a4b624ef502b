"""Fencing: what a worker writes counts only while the job still has the attempt of its claim."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from django.db.models import QuerySet

from work.errors import JobLostError
from work.models import Job, State


def job_held(job: Job) -> QuerySet[Job]:
    """The row of the job, as long as nobody has claimed, paused or cancelled it since; else nothing."""
    return Job.objects.filter(pk=job.pk, attempt=job.attempt, state=State.RUNNING)


@contextmanager
def job_writing(job: Job) -> Iterator[None]:
    """A transaction in which nobody else can claim the job.

    Raises JobLostError, before anything is written, where somebody already has.
    """
    with transaction.atomic():
        if job_held(job).select_for_update(no_key=True).first() is None:
            raise JobLostError
        yield
