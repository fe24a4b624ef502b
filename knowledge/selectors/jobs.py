"""Ingestion jobs and where they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, QuerySet

from accounts.error_messages import stored_message
from accounts.errors import NotFoundError
from accounts.scope import Scope
from knowledge.models import IngestItem, IngestJob
from knowledge.selectors.documents import documents_readable
from knowledge.types import ItemProgress, JobState, JobStatus

MAX_ERRORS = 1000  # of a job that are told one by one; the others are counted


def jobs_readable(*, scope: Scope) -> QuerySet[IngestJob]:
    """Jobs that the asker started or administers."""
    if scope.administers == "everything":
        return IngestJob.objects.all()
    jobs = IngestJob.objects.filter(tenant_id=scope.tenant_id)
    return jobs if scope.administers == "tenant" else jobs.filter(created_by_id=scope.user_id)


def job_get(*, scope: Scope, job_id: int) -> JobStatus:
    """Where a job of the asker stands. Raises NotFoundError."""
    job = jobs_readable(scope=scope).select_related("run__work").filter(pk=job_id).first()
    if job is None:
        raise NotFoundError("job", job=job_id)
    return _status(job, scope)


def _status(job: IngestJob, scope: Scope) -> JobStatus:
    """Counts, the least advanced open stage, and the errors of a job."""
    stages = IngestItem.Stage
    rows = job.items.order_by().values("stage").annotate(number=Count("pk"), attempts=Max("attempt"))
    counts = {row["stage"]: row["number"] for row in rows}
    total, live, failed = sum(counts.values()), counts.get(stages.LIVE, 0), counts.get(stages.FAILED, 0)
    cancelled = counts.get(stages.CANCELLED, 0)
    started = any(row["attempts"] for row in rows)
    state = _job_state(total=total, live=live, ended=failed + cancelled, started=started)
    run = RunOutcome.of(job)
    return JobStatus(
        id=job.pk,
        state=_cancelled_state(live) if job.cancelled else run.state_over(state, live=live),
        total=total,
        done=live,
        failed=failed,
        cancelled=cancelled,
        paused=job.paused is not None,
        stage=min(counts, key=list(stages.values).index, default=stages.LIVE),  # what is over comes last in this order
        errors=(*(_item_errors(job, scope) if failed else ()), *run.errors),
    )


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What the run of a source adds to the state of a job: it may still look for documents, and refuse some."""

    run: str  # waiting, running, done; empty: no run belongs to the job
    failed: bool
    errors: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, job: IngestJob) -> RunOutcome:
        """Of a job that was read with its run."""
        report, run = job.report, getattr(job, "run", None)
        problems = [*report.get("faults", ()), *report.get("refused", ())]
        errors = (
            {
                "document_id": None,
                "external_id": problem.get("path", ""),
                "code": problem["code"],
                "message": stored_message(problem["code"], problem["message"], problem.get("data")),
            }
            for problem in problems
        )
        return cls(run.state if run else "", bool(report.get("faults")), tuple(errors))

    def state_over(self, state: JobState, *, live: int) -> JobState:
        """The state of the whole job, from that of its items."""
        if self.run in ("waiting", "running"):
            return "queued" if self.run == "waiting" and state == "succeeded" else "running"
        if state != "succeeded" or not self.errors:
            return state
        return "failed" if self.failed and not live else "partial"


def _item_errors(job: IngestJob, scope: Scope) -> Iterator[dict[str, Any]]:
    rows = job.items.filter(stage=IngestItem.Stage.FAILED).select_related("version__document").order_by("id")
    failed = list(rows.only("error_code", "error_message", "version__document__external_id")[:MAX_ERRORS])
    nameable = _known(scope, failed)
    for item in failed:
        document = item.version.document
        yield {
            "document_id": document.pk,
            "external_id": document.external_id if document.pk in nameable else "",
            "code": item.error_code,
            "message": _message(item) if document.pk in nameable else "",
        }


def _job_state(*, total: int, live: int, ended: int, started: bool) -> JobState:
    """`ended`: items that are over without being live."""
    if live + ended < total:
        return "running" if started else "queued"
    if ended == 0:
        return "succeeded"
    return "failed" if ended == total else "partial"


def _cancelled_state(live: int) -> JobState:
    """Whoever cancels ends everything that is open, perhaps before there was anything."""
    return "partial" if live else "failed"


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
            raise NotFoundError("job", job=job_id)
        rows = rows.filter(job_id=job_id)
    if document_ids:
        rows = rows.filter(version__document_id__in=list(document_ids))
    rows = rows.select_related("version__document").defer("version__markdown", "version__sketch")
    return rows.order_by("id")


def items_progress(*, scope: Scope, items: Sequence[IngestItem]) -> list[ItemProgress]:
    """How far these items are, in their order. A few queries, whatever their number.

    Documents that the asker may not see have neither name nor message, which may name what is in them.
    """
    positions, nameable = _positions(items), _known(scope, items)
    return [_progress(item, positions.get(item.pk), is_named=item.version.document_id in nameable) for item in items]


def _known(scope: Scope, items: Sequence[IngestItem]) -> set[int]:
    """Documents of the items whose names the asker may know: those that they may open now. A deleted one has no name
    for anybody: it may have been renamed, restricted or taken out of their sets before it was deleted.
    """
    ids = {item.version.document_id for item in items}
    return set(documents_readable(scope=scope).order_by().filter(pk__in=ids).values_list("pk", flat=True))


def _message(item: IngestItem) -> str:
    return stored_message(item.error_code, item.error_message, item.error_data)


def _positions(items: Sequence[IngestItem]) -> dict[int, int]:
    """1-based place in its queue of each of the items that wait. What comes before the first is counted, not read."""
    waiting = [item.pk for item in items if item.finished is None and item.lease_until is None]
    if not waiting:
        return {}
    first, last = min(waiting), max(waiting)
    rows = IngestItem.objects.order_by().filter(finished=None, lease_until=None, job__paused=None)
    before = rows.filter(pk__lt=first).values("queue").annotate(number=Count("pk"))
    counts_before = Counter({row["queue"]: row["number"] for row in before})
    places: dict[int, int] = {}
    for pk, queue in rows.filter(pk__range=(first, last)).order_by("pk").values_list("pk", "queue").iterator():
        counts_before[queue] += 1
        places[pk] = counts_before[queue]
    return places


def _progress(item: IngestItem, position: int | None, *, is_named: bool) -> ItemProgress:
    return ItemProgress(
        id=item.pk,
        document_id=item.version.document_id,
        title=item.version.document.title if is_named else "",
        file_name=item.version.file_name if is_named else "",
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
        error_message=_message(item) if is_named else "",
        finished=item.finished,
    )
