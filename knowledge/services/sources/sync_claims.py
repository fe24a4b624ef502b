"""Which runs of sources may go on, and who works on them.

A run is a row (SyncRun) that one worker at a time holds (`knowledge.services.leases`). A source is held by one run at a
time: `outcome = running` until `next_run`, when the scheduler looks at it again anyway; the time of the claim,
`last_run`, names the holder.

Only a few runs go on at once: a run may take hours, and the same workers look after conversations and indexes.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from knowledge.indexes.advisory_locks import sync_runs_lock
from knowledge.models import IngestJob, Source, SyncRun
from knowledge.services.leases import Lease, LeaseLostError, claimable, rows_claim
from knowledge.services.sources.sync_report import RunReport
from ragcore.errors import RagError

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


def source_release(*, source: Source, claimed: datetime, outcome: Source.Outcome, error: RagError | None) -> None:
    """Store the outcome and when the source is due again; changes nothing where another run has the source."""
    schedule = Source.objects.filter(pk=source.pk).values_list("schedule", flat=True).first()  # perhaps another one now
    if schedule is None:  # it was removed
        return
    Source.objects.filter(pk=source.pk, outcome=Outcome.RUNNING, last_run=claimed).update(
        outcome=outcome,
        message=error.message[:512] if error else "",
        message_data=error.message_data() if error else {},
        next_run=next_run_after(schedule, timezone.now()),
    )
