"""Runs of sources: how they start, what they have brought so far, and which run has a source.

A run (SyncRun) is a background job. A source is read by one run at a time: that of `Source.run`, as long as its outcome
is "running" and the job of the run, too. Counts and messages are stored on the ingestion job (IngestJob.report).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.error_messages import stored_message
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.connectors import connector_kinds
from knowledge.errors import RunBrokenOffError, RunLostError
from knowledge.models import IngestJob, Source, SyncRun
from knowledge.queue import SYNC_SOURCES, ingest_subject
from knowledge.selectors import set_owned
from knowledge.selectors.sets import sources_managed
from knowledge.services.sources.ownership import OWNER_ACTIVE
from knowledge.services.sources.pacing import opens_at
from knowledge.types import SourceOptions, strictly
from ragcore.errors import RagError
from work.models import OPEN, Job, State
from work.services import work_start

# the others send what they have
LISTED_KINDS = frozenset({Source.Kind.FOLDER, Source.Kind.URL, Source.Kind.SITEMAP, *connector_kinds()})
CHANGES = "changes"  # since the last run
WHOLE_LIST = "list"  # the whole list; what has changed since it was read is read
EVERYTHING = "everything"  # the whole list, and each item is read and compared
MAX_REFUSED = 500  # named items; the others are only counted

RESTARTED = ("found", "left_out", "refused", "refused_more", "faults", "notes")

JITTER = 0.1  # of the interval, so that sources do not all start at the full hour
INTERVALS = {
    Source.Schedule.HOURLY: timedelta(hours=1),
    Source.Schedule.DAILY: timedelta(days=1),
    Source.Schedule.WEEKLY: timedelta(weeks=1),
}
Outcome = Source.Outcome


@dataclass(slots=True)
class RunReport:
    """Counts of items, and messages about what was refused or went wrong."""

    found: int = 0
    new: int = 0
    changed: int = 0
    left_out: int = 0  # by rules of the handler
    deleted: int = 0
    refused: list[dict[str, Any]] = field(default_factory=list)
    refused_more: int = 0
    faults: list[dict[str, Any]] = field(default_factory=list)  # of whole sources
    notes: list[dict[str, Any]] = field(default_factory=list)  # nothing is wrong, but somebody should know

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> RunReport:
        """From JSON; fields of other versions are dropped."""
        return cls(**{name: stored[name] for name in cls.__dataclass_fields__ if name in stored})

    def json(self) -> dict[str, Any]:
        return {**asdict(self), "unchanged": self.unchanged}

    @property
    def unchanged(self) -> int:
        """Items that were found and needed nothing. Counts of an interrupted run add up, too."""
        return max(0, self.found - self.new - self.changed - self.left_out - self.refused_total)

    def checkpoint(self) -> dict[str, Any]:
        """What is set back when a source has to be run again; what it registered stays counted."""
        return {name: copy(getattr(self, name)) for name in RESTARTED}

    def refuse(self, *, path: str, error: RagError) -> None:
        if len(self.refused) < MAX_REFUSED:
            self.refused.append({"path": path[:1024], **stored_error(error)})
        else:
            self.refused_more += 1

    def fault(self, *, source: str, error: RagError) -> None:
        self.faults.append({"source": source, **stored_error(error)})

    def note(self, *, source: str, error: RagError) -> None:
        self.notes.append({"source": source, **stored_error(error)})

    @property
    def refused_total(self) -> int:
        return len(self.refused) + self.refused_more


def stored_error(error: RagError) -> dict[str, Any]:
    """An error as reports keep it: code, English message, and the data that a translation needs."""
    data = error.message_data()
    return {"code": error.code, "message": error.message[:512], **({"data": data} if data else {})}


def next_run_after(schedule: str, now: datetime) -> datetime | None:
    """When a source is due again; None: by hand."""
    interval = INTERVALS.get(Source.Schedule(schedule))
    return None if interval is None else now + interval * random.uniform(1, 1 + JITTER)  # noqa: S311 (jitter)


# ── runs ────────────────────────────────────────────────────────────────────────────────────────


def runs_open() -> QuerySet[SyncRun]:
    """Runs that wait, go on or are paused, the oldest first."""
    return SyncRun.objects.filter(work__state__in=OPEN).select_related("job", "work").order_by("pk")


def sources_pending(job: Job) -> list[int]:
    """Ids of the sources that a run has not been through, the present one first; none of one that fetches a page."""
    sources: list[int] = job.arguments.get("sources", [])
    return sources[job.checkpoint.get("position", 0) :]


def report_store(job_id: int, report: RunReport) -> None:
    """Call it in a checkpoint of the run."""
    IngestJob.objects.filter(pk=job_id).update(report=report.json())


def run_interrupted(*, job: Job) -> None:
    """Note on the source that a run reads, and on its ingestion job, that the run has failed or was stopped."""
    has_failed = job.state == State.FAILED
    error = RunBrokenOffError() if has_failed else RunLostError()
    for source in Source.objects.filter(run__work=job, outcome=Outcome.RUNNING):
        source_release(source_id=source.pk, job=job, outcome=Outcome.FAILED, error=stored_error(error))
    if has_failed:
        ingest_job = IngestJob.objects.select_for_update(no_key=True).get(run__work=job)
        report = RunReport.of(ingest_job.report)
        report.fault(source=ingest_job.source.name if ingest_job.source else "", error=error)
        report_store(ingest_job.pk, report)


# ── sources ─────────────────────────────────────────────────────────────────────────────────────


def source_claim(*, source_id: int, job: Job) -> bool:
    """Give a source to the run of a background job; False while another one reads it. Call while the job is held."""
    source = Source.objects.select_for_update(no_key=True, of=("self",)).filter(pk=source_id).first()
    if source is None:
        return False
    reading = SyncRun.objects.filter(pk=source.run_id, work__state=State.RUNNING).exclude(work=job)
    if source.outcome == Outcome.RUNNING and reading.exists():
        return False
    run = SyncRun.objects.get(work=job)
    values = {"outcome": Outcome.RUNNING, "message": "", "message_data": {}, "last_run": timezone.now()}
    Source.objects.filter(pk=source_id).update(run=run, **values)
    return True


def source_release(*, source_id: int, job: Job, outcome: Source.Outcome, error: Mapping[str, Any] | None) -> None:
    """Store the outcome and when the source is due again; changes nothing where another run has the source.

    `error`: as `stored_error` gives it; the code is kept among its data.
    """
    rows = Source.objects.filter(pk=source_id, outcome=Outcome.RUNNING, run__work=job)
    schedule = rows.values_list("schedule", flat=True).first()  # perhaps another one than when the run began
    if schedule is not None:
        rows.update(
            outcome=outcome,
            message=error["message"] if error else "",
            message_data={**error.get("data", {}), "code": error["code"]} if error else {},
            next_run=next_run_after(schedule, timezone.now()),
        )


def source_message(source: Source) -> str:
    """What the last sync of a source could not do, in the language of the thread; "" where nothing was wrong."""
    code = str(source.message_data.get("code", "items_refused"))  # rows of earlier releases have none
    return stored_message(code, source.message, source.message_data)


@transaction.atomic
def set_ingest(*, scope: Scope, actor: User, set_id: int) -> IngestJob:
    """Run the enabled sources of a set that the asker keeps, and add matching documents to the set.

    Sources that others share are run by their owners and schedules. Raises NotFoundError, NotAllowedError.
    """
    chosen = set_owned(scope=scope, set_id=set_id)
    managed = sources_managed(scope=scope)
    sources = list(managed.filter(set_sources__knowledge_set=chosen, enabled=True).order_by("pk"))
    audit_record(actor=actor, action="set.ingest", target=chosen.code, set=chosen.pk, sources=[s.pk for s in sources])
    return run_open(sources=sources, actor=actor, trigger="person", tenant_id=chosen.tenant_id)


@transaction.atomic
def run_open(
    *,
    sources: Sequence[Source],
    actor: User | None,
    trigger: str,
    tenant_id: int | None = None,
    trusted_folder: str = "",
    mode: str = CHANGES,
) -> IngestJob:
    """Create a job that reads these sources one after another. `mode`: CHANGES, WHOLE_LIST or EVERYTHING.

    `trusted_folder`: named by whoever operates this machine, so nobody asks whether the tenant has it. Then the caller
    runs the job, and no worker is called.
    """
    job = IngestJob.objects.create(
        tenant_id=tenant_id or sources[0].tenant_id,
        created_by=actor,
        kind=IngestJob.Kind.SYNC,
        source=sources[0] if len(sources) == 1 else None,
        report=RunReport().json(),
    )
    started = work_start(
        kind=SYNC_SOURCES,
        tenant_id=job.tenant_id,
        author=actor,
        subject=ingest_subject(job.pk),
        arguments={
            "job_id": job.pk,
            "sources": [source.pk for source in sources],
            "trusted_folder": trusted_folder,
            "mode": mode,
        },
        is_called=not trusted_folder,
    )
    SyncRun.objects.create(job=job, work=started.job, trigger=trigger)
    return job


@transaction.atomic
def sources_start_due() -> list[int]:
    """Start due sources, and set when they are due again; ids of ingestion jobs. Called every minute."""
    now = timezone.now()
    due = Source.objects.filter(
        OWNER_ACTIVE,
        kind__in=LISTED_KINDS,
        enabled=True,
        next_run__lte=now,
        schedule__in=[str(name) for name in INTERVALS],
    )
    started = []
    for source in due.select_for_update(of=("self",), skip_locked=True).select_related("owner").order_by("next_run"):
        if (opening := opens_at(strictly(SourceOptions, source.options).hours, now)) is not None:
            Source.objects.filter(pk=source.pk).update(next_run=opening)
            continue
        Source.objects.filter(pk=source.pk).update(next_run=next_run_after(source.schedule, now))
        is_read = Q(pk=source.run_id) if source.outcome == Outcome.RUNNING else Q(pk=None)
        if not runs_open().filter(is_read | Q(job__source=source)).exists():
            started.append(run_open(sources=[source], actor=source.owner, trigger="schedule").pk)
    return started
