"""Runs of sources: how they start, which may go on, who works on them, and what they have done so far.

A run is a row (SyncRun) that one worker at a time holds (`knowledge.services.leases`). A source is held by one run at a
time: `outcome = running` until `next_run`, when the scheduler looks at it again anyway; the time of the claim,
`last_run`, names the holder.

Only a few runs go on at once: a run may take hours, and the same workers look after conversations and indexes. Counts
and messages are stored on the job of the run (IngestJob.report).
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
from knowledge.errors import RunBrokenOffError
from knowledge.indexes.statements import sync_runs_lock
from knowledge.models import IngestJob, Source, SyncRun
from knowledge.queue import RUN_SYNC, enqueue_on_commit
from knowledge.selectors import set_owned
from knowledge.selectors.sets import sources_managed
from knowledge.services.leases import Lease, LeaseLostError, claimable, rows_claim
from knowledge.services.sources.ownership import OWNER_ACTIVE
from ragcore.errors import RagError

LISTED_KINDS = frozenset({Source.Kind.FOLDER, Source.Kind.URL, Source.Kind.SITEMAP})  # the others send what they have
MAX_REFUSED = 500  # named items; the others are only counted

RESTARTED = ("found", "left_out", "refused", "refused_more", "faults", "notes")

LEASE_SECONDS = 300.0
BEAT_SECONDS = 10.0  # between two signs of life
RUNS_AT_ONCE = 2  # by workers, of sources
FETCHES_AT_ONCE = 1  # and of single pages: together fewer than the workers of their queue
RECENT = timedelta(days=7)  # older runs are not taken up any more
JITTER = 0.1  # of the interval, so that sources do not all start at the full hour
INTERVALS = {
    Source.Schedule.HOURLY: timedelta(hours=1),
    Source.Schedule.DAILY: timedelta(days=1),
    Source.Schedule.WEEKLY: timedelta(weeks=1),
}
Outcome = Source.Outcome
OF_SOURCES = Q(request={})  # others fetch one address
FORGOTTEN_SECONDS = 90.0  # the message of a run that nobody has claimed by then may be lost
SENT_AT_ONCE = 20  # of them; most find that it is not their turn


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
    """Runs that wait or go on, the oldest first."""
    recent = SyncRun.objects.filter(job__created__gt=timezone.now() - RECENT)
    return recent.filter(finished=None, job__cancelled=None).order_by("pk")


def runs_next() -> list[int]:
    """Ids of the jobs whose turn is next: as many of each kind as go on at once. Commands run theirs themselves."""
    waiting = runs_open().filter(lease_until=None, job__paused=None).exclude(trigger="command")
    runs = waiting.filter(OF_SOURCES).values_list("pk", flat=True)[:RUNS_AT_ONCE]
    fetches = waiting.exclude(OF_SOURCES).values_list("pk", flat=True)[:FETCHES_AT_ONCE]
    return [*runs, *fetches]


@transaction.atomic
def run_claim(*, job_id: int, in_turn: bool = True) -> SyncRun | None:
    """Take a run; None if it is over, stopped, or another worker shows signs of life in it.

    `in_turn`: also None while as many others of its kind go on as may at once.
    """
    sync_runs_lock()
    job = IngestJob.objects.select_for_update().get(pk=job_id)
    run = SyncRun.objects.select_for_update().filter(claimable(timezone.now()), pk=job_id).first()
    if run is None or (in_turn and not _is_its_turn(run)):
        return None
    if run.checkpoint:  # an earlier attempt was interrupted in the middle of a source
        report = RunReport.of({**job.report, **run.checkpoint})
        IngestJob.objects.filter(pk=job_id).update(report=report.json())
    rows_claim(SyncRun, [run], seconds=LEASE_SECONDS)
    return run


def _is_its_turn(run: SyncRun) -> bool:
    going_on = runs_open().filter(lease_until__gt=timezone.now())
    if run.request:
        return going_on.exclude(OF_SOURCES).count() < FETCHES_AT_ONCE
    return going_on.filter(OF_SOURCES).count() < RUNS_AT_ONCE


def run_lease(run: SyncRun) -> Lease[SyncRun]:
    return Lease(SyncRun, [run], LEASE_SECONDS)


@transaction.atomic
def run_store(*, lease: Lease[SyncRun], report: RunReport, **values: Any) -> None:
    """Store how far a run is, and renew its lease. Raises LeaseLostError if it was cancelled, paused or taken over."""
    [run] = lease.rows
    IngestJob.objects.select_for_update().get(pk=run.pk)  # before the run, as whoever claims or cancels it does
    lease.renew(**_progress(run), **values)
    IngestJob.objects.filter(pk=run.pk).update(report=report.json())


@transaction.atomic
def run_release(*, lease: Lease[SyncRun], report: RunReport) -> None:
    """Give a run back that cannot go on now, so that it is taken up again later."""
    [run] = lease.rows
    IngestJob.objects.select_for_update().get(pk=run.pk)
    if lease.release(**_progress(run)):
        IngestJob.objects.filter(pk=run.pk).update(report=report.json())


def _progress(run: SyncRun) -> dict[str, Any]:
    return {"pending_sources": run.pending_sources, "request": run.request, "checkpoint": run.checkpoint}


# ── sources ─────────────────────────────────────────────────────────────────────────────────────


def source_claim(*, source_id: int) -> datetime | None:
    """Take a source; the time of the claim names the holder. None while another run has it."""
    now = timezone.now()
    free = Source.objects.filter(~Q(outcome=Outcome.RUNNING) | Q(next_run=None) | Q(next_run__lte=now), pk=source_id)
    taken = free.update(
        outcome=Outcome.RUNNING,
        message="",
        message_data={},
        last_run=now,
        next_run=now + timedelta(seconds=LEASE_SECONDS),
    )
    return now if taken else None


def source_renew(*, source_id: int, claimed: datetime) -> None:
    """Raises LeaseLostError if the lease ended and another run has the source."""
    mine = Source.objects.filter(pk=source_id, outcome=Outcome.RUNNING, last_run=claimed)
    if not mine.update(next_run=timezone.now() + timedelta(seconds=LEASE_SECONDS)):
        raise LeaseLostError


def source_release(
    *, source: Source, claimed: datetime, outcome: Source.Outcome, error: Mapping[str, Any] | None
) -> None:
    """Store the outcome and when the source is due again; changes nothing where another run has the source.

    `error`: as `stored_error` gives it; the code is kept among its data.
    """
    schedule = Source.objects.filter(pk=source.pk).values_list("schedule", flat=True).first()  # perhaps another one now
    if schedule is None:  # it was removed
        return
    Source.objects.filter(pk=source.pk, outcome=Outcome.RUNNING, last_run=claimed).update(
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
    mine = sources_managed(scope=scope)
    sources = list(mine.filter(set_sources__knowledge_set=chosen, enabled=True).order_by("pk"))
    audit_record(actor=actor, action="set.ingest", target=chosen.code, set=chosen.pk, sources=[s.pk for s in sources])
    return run_open(sources=sources, actor=actor, trigger="person", tenant_id=chosen.tenant_id)


@transaction.atomic
def run_open(
    *, sources: Sequence[Source], actor: User | None, trigger: str, tenant_id: int | None = None, send: bool = True
) -> IngestJob:
    """Create a job that runs these sources one after another; enqueued after the commit."""
    job = IngestJob.objects.create(
        tenant_id=tenant_id or sources[0].tenant_id,
        created_by=actor,
        kind=IngestJob.Kind.SYNC,
        source=sources[0] if len(sources) == 1 else None,
        report=RunReport().json(),
    )
    pending = [source.pk for source in sources]
    SyncRun.objects.create(job=job, trigger=trigger, pending_sources=pending, heartbeat=timezone.now())
    if send:
        enqueue_on_commit(RUN_SYNC, job_id=job.pk)
    return job


def sources_start_due() -> list[int]:
    """Start due sources and resume interrupted runs; returns job ids. Called every minute.

    At most one message per run and minute: due sources get their next time at once, waiting runs a new heartbeat.
    """
    return [*_due_started(), *_broken_off_sent()]


@transaction.atomic
def _due_started() -> list[int]:
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
        broken_off = source.outcome == Source.Outcome.RUNNING  # its lease ended at next_run
        said = (
            {"outcome": Source.Outcome.FAILED, "message": RunBrokenOffError.default_message, "message_data": {}}
            if broken_off
            else {}
        )
        Source.objects.filter(pk=source.pk).update(next_run=next_run_after(source.schedule, now), **said)
        if not runs_open().filter(job__source=source).exists():
            started.append(run_open(sources=[source], actor=source.owner, trigger="schedule").pk)
    return started


@transaction.atomic
def _broken_off_sent() -> list[int]:
    now = timezone.now()
    lost = Q(lease_until=None, heartbeat__lt=now - timedelta(seconds=FORGOTTEN_SECONDS))
    dead = Q(lease_until__lt=now)
    rows = runs_open().filter(lost | dead, job__paused=None).select_for_update(of=("self",), skip_locked=True)
    runs = list(rows[:SENT_AT_ONCE])
    SyncRun.objects.filter(pk__in=[run.pk for run in runs], lease_until=None).update(heartbeat=now)
    for run in runs:
        enqueue_on_commit(RUN_SYNC, job_id=run.pk)
    return [run.pk for run in runs]


def runs_next_start() -> None:
    """Enqueue the runs whose turn is next after another one has ended."""
    for job_id in runs_next():
        enqueue_on_commit(RUN_SYNC, job_id=job_id)
