"""Ingestion jobs and where they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, QuerySet

from accounts.errors import NotFoundError
from accounts.scope import Scope
from accounts.wording import worded
from knowledge.models import IngestItem, IngestJob
from knowledge.types import ItemProgress, JobState, JobStatus


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
    cancelled = counts.get(stages.CANCELLED, 0)
    started = any(row["attempts"] for row in rows)
    state = _job_state(total=total, done=done, ended=failed + cancelled, started=started)
    run = RunOutcome.of(job.report)
    return JobStatus(
        id=job.pk,
        state=run.state_over(state, done=done),
        total=total,
        done=done,
        failed=failed,
        cancelled=cancelled,
        paused=job.paused is not None,
        stage=min(counts, key=list(stages.values).index, default=stages.LIVE),  # what is over comes last in this order
        errors=(*(_item_errors(job) if failed else ()), *run.errors),
    )


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What the run of a source adds to the state of a job: it may still look for documents, and refuse some."""

    run: str  # waiting, running, done; empty: no run belongs to the job
    failed: bool
    errors: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> RunOutcome:
        told = [*report.get("faults", ()), *report.get("refused", ())]
        errors = (
            {
                "document_id": None,
                "external_id": one.get("path", ""),
                "code": one["code"],
                "message": worded(one["message"]),
            }
            for one in told
        )
        return cls(report.get("state", ""), bool(report.get("faults")), tuple(errors))

    def state_over(self, state: JobState, *, done: int) -> JobState:
        """The state of the whole job, from that of its items."""
        if self.run in ("waiting", "running"):
            return "queued" if self.run == "waiting" and state == "succeeded" else "running"
        if state != "succeeded" or not self.errors:
            return state
        return "failed" if self.failed and not done else "partial"


def _item_errors(job: IngestJob) -> Iterator[dict[str, Any]]:
    failed = job.items.filter(stage=IngestItem.Stage.FAILED).select_related("version__document").order_by("id")
    for item in failed.only("error_code", "error_message", "version__document__external_id"):
        yield {
            "document_id": item.version.document_id,
            "external_id": item.version.document.external_id,
            "code": item.error_code,
            "message": worded(item.error_message),
        }


def _job_state(*, total: int, done: int, ended: int, started: bool) -> JobState:
    """`ended`: items that are over without being live."""
    if done + ended < total:
        return "running" if started else "queued"
    if ended == 0:
        return "succeeded"
    return "failed" if ended == total else "partial"


# ── items ───────────────────────────────────────────────────────────────────────────────────────


def items_readable(
    *, scope: Scope, job_id: int | None = None, document_ids: Sequence[int] = ()
) -> QuerySet[IngestItem]:
    """Items of a job, or the items of these documents, in jobs that the asker started or administers; in order.

    Raises NotFoundError for a job that is not the asker's.
    """
    jobs = jobs_readable(scope=scope)
    rows = IngestItem.objects.filter(job__in=jobs.order_by().values("pk"))
    if job_id is not None:
        if not jobs.filter(pk=job_id).exists():
            raise NotFoundError(f"There is no job {job_id}, or it is not yours.", job=job_id)
        rows = rows.filter(job_id=job_id)
    if document_ids:
        rows = rows.filter(version__document_id__in=list(document_ids))
    rows = rows.select_related("version__document").defer("version__markdown", "version__sketch")
    return rows.order_by("id")


def items_progress(*, scope: Scope, items: Sequence[IngestItem]) -> list[ItemProgress]:
    """How far these items are, in their order (B7). One query, whatever their number."""
    del scope  # the items were found with it
    positions = _positions(items)
    return [_progress(item, positions.get(item.pk)) for item in items]


def _positions(items: Sequence[IngestItem]) -> dict[int, int]:
    """1-based place in its queue of each of the items that wait."""
    waiting = [item.pk for item in items if item.finished is None and item.lease_until is None]
    if not waiting:
        return {}
    rows = IngestItem.objects.filter(finished=None, lease_until=None, job__paused=None, pk__lte=max(waiting))
    seen: Counter[str] = Counter()
    places: dict[int, int] = {}
    for pk, queue in rows.order_by("pk").values_list("pk", "queue"):
        seen[queue] += 1
        places[pk] = seen[queue]
    return places


def _progress(item: IngestItem, position: int | None) -> ItemProgress:
    return ItemProgress(
        id=item.pk,
        document_id=item.version.document_id,
        title=item.version.document.title,
        file_name=item.version.file_name,
        stage=item.stage,
        stage_label=item.get_stage_display(),
        queue=item.queue,
        position=position,
        progress_done=item.progress_done,
        progress_total=item.progress_total,
        heartbeat=item.heartbeat,
        attempt=item.attempt,
        not_before=item.not_before,
        error_code=item.error_code,
        error_message=worded(item.error_message),
        finished=item.finished,
    )
