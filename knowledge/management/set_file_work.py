"""What the commands for set files have in common: who acts, and running the job in this process."""

from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError

from accounts.models import User
from knowledge.models import SetFile
from work.models import UNKNOWN, Job, State
from work.runner import slice_run

POLL_SECONDS = 0.5


def person_named(username: str) -> User:
    """The person of this name. Raises CommandError."""
    actor = User.objects.select_related("tenant").filter(username=username, is_active=True).first()
    if actor is None:
        raise CommandError(f"There is no user {username!r}.")
    return actor


def work_through(kind: str, row: SetFile, stream: Any) -> None:
    """Run the job of a file to its end in this process, beside other workers. Raises CommandError where it fails."""
    job = Job.objects.get(kind=kind, subject=row.subject, tenant=row.tenant_id)
    while job.state in (State.QUEUED, State.RUNNING):
        if not slice_run(job_id=job.pk, in_turn=False, on_checkpoint=lambda reached_job: _tell(reached_job, stream)):
            time.sleep(POLL_SECONDS)  # a worker has it, or a passing fault is tried again later
        job.refresh_from_db()
    if job.state != State.DONE:
        reason = job.error_data.get("message") or job.error_code or UNKNOWN
        raise CommandError(f"The job {job.pk} is {job.state}: {reason}")


def _tell(job: Job, stream: Any) -> None:
    if job.total:
        stream.write(f"{job.done} of {job.total} documents", ending="\r")
