"""Files that workers read, for these tests."""

from __future__ import annotations

from chat.queue import READ_ATTACHMENT
from tests.work.contract import due
from work.models import Job
from work.runner import slice_run


def reading_of(attachment_id: int) -> Job:
    """The latest background job that reads a file."""
    return Job.objects.filter(kind=READ_ATTACHMENT, subject=f"file:{attachment_id}").order_by("pk").last()


def attachment_read(*, attachment_id: int) -> None:
    """Let a worker read a file now."""
    job = reading_of(attachment_id)
    due(job)
    slice_run(job_id=job.pk)
