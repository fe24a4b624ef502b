"""Ingestion jobs and where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Count, Max, QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from accounts.wording import worded
from knowledge.models import IngestItem, IngestJob
from knowledge.types import JobState, JobStatus


def jobs_readable(*, scope: Scope) -> QuerySet[IngestJob]:
    """Jobs that the asker started or administers."""
    if scope.administers == "everything":
        return IngestJob.objects.all()
    mine = IngestJob.objects.filter(tenant_id=scope.tenant_id)
    return mine if scope.administers == "tenant" else mine.filter(created_by_id=scope.user_id)


def job_get(*, scope: Scope, job_id: int) -> JobStatus:
    """Where a job of the asker stands. Raises NotFoundError."""
    job = jobs_readable(scope=scope).filter(pk=job_id).first()
    if job is None:
        raise NotFoundError(f"There is no job {job_id}, or it is not yours.", job=job_id)
    return job_status(job)


def job_status(job: IngestJob) -> JobStatus:
    """Counts, the least advanced open stage, and the errors of a job."""
    stages = IngestItem.Stage
    rows = job.items.order_by().values("stage").annotate(number=Count("pk"), attempts=Max("attempt"))
    counts = {row["stage"]: row["number"] for row in rows}
    total, done, failed = sum(counts.values()), counts.get(stages.LIVE, 0), counts.get(stages.FAILED, 0)
    return JobStatus(
        id=job.pk,
        state=_job_state(total=total, done=done, failed=failed, started=any(row["attempts"] for row in rows)),
        total=total,
        done=done,
        failed=failed,
        stage=min(counts, key=list(stages.values).index, default=stages.LIVE),  # what is over comes last in this order
        errors=tuple(_item_errors(job)) if failed else (),
    )


def _item_errors(job: IngestJob) -> Iterator[dict[str, Any]]:
    failed = job.items.filter(stage=IngestItem.Stage.FAILED).select_related("version__document").order_by("id")
    for item in failed.only("error_code", "error_message", "version__document__external_id"):
        yield {
            "document_id": item.version.document_id,
            "external_id": item.version.document.external_id,
            "code": item.error_code,
            "message": worded(item.error_message),
        }


def _job_state(*, total: int, done: int, failed: int, started: bool) -> JobState:
    if done + failed < total:
        return "running" if started else "queued"
    if failed == 0:
        return "succeeded"
    return "failed" if failed == total else "partial"
