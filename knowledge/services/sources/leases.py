"""One worker a run, one run a source: leases in Postgres, which end by themselves where a worker died.

A run's lease stands in its job's report (token, heartbeat). A source's lease is `outcome = running` until `next_run`,
the time at which the scheduler looks at it again anyway.

Workers run a few at once only: a run may take hours, and the same workers look after conversations and indexes.
"""

from __future__ import annotations

import random
import time
import uuid
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from knowledge.errors import RunLostError
from knowledge.indexes.advisory_locks import sync_runs_lock
from knowledge.models import IngestJob, Source
from knowledge.services.sources.run_report import RunReport

LEASE_SECONDS = 300.0
BEAT_SECONDS = 10.0  # between two signs of life
RUNS_AT_ONCE = 2  # by workers, of sources
FETCHES_AT_ONCE = 1  # and of single pages: together fewer than the workers of their queue
RECENT = timedelta(days=7)  # older runs are not looked through
JITTER = 0.1  # of the interval, so that sources do not all start at the full hour
INTERVALS = {
    Source.Schedule.HOURLY: timedelta(hours=1),
    Source.Schedule.DAILY: timedelta(days=1),
    Source.Schedule.WEEKLY: timedelta(weeks=1),
}

Outcome = Source.Outcome
SOURCES = Q(report__request={})  # runs of sources; others fetch one address


def next_run_after(schedule: str, now: datetime) -> datetime | None:
    """When a source is due again; None: by hand."""
    interval = INTERVALS.get(Source.Schedule(schedule))
    return None if interval is None else now + interval * random.uniform(1, 1 + JITTER)  # noqa: S311 (jitter)


def runs_open() -> QuerySet[IngestJob]:
    """Runs that wait or go on, the oldest first."""
    recent = IngestJob.objects.filter(created__gt=timezone.now() - RECENT, cancelled=None)
    return recent.filter(report__state__in=["waiting", "running"]).order_by("pk")


def runs_next() -> list[int]:
    """Ids of the jobs whose turn is next: as many of each kind as go on at once. Commands run theirs themselves."""
    waiting = runs_open().filter(paused=None, report__state="waiting").exclude(report__trigger="command")
    runs = waiting.filter(SOURCES).values_list("pk", flat=True)[:RUNS_AT_ONCE]
    fetches = waiting.exclude(SOURCES).values_list("pk", flat=True)[:FETCHES_AT_ONCE]
    return [*runs, *fetches]


@transaction.atomic
def job_claim(*, job_id: int, in_turn: bool = True) -> RunReport | None:
    """Take a run; None if it is over, stopped, or another worker shows signs of life in it.

    `in_turn`: also None while as many others of its kind go on as may at once.
    """
    sync_runs_lock()
    job = IngestJob.objects.select_for_update().get(pk=job_id)
    report = RunReport.of(job.report)
    alive = report.state == "running" and time.time() - report.heartbeat < LEASE_SECONDS
    if alive or report.state == "done" or job.paused or job.cancelled or (in_turn and not _is_its_turn(report)):
        return None
    report.source_again()
    report.state, report.token, report.heartbeat = "running", uuid.uuid4().hex, time.time()
    IngestJob.objects.filter(pk=job_id).update(report=report.json())
    return report


def _is_its_turn(report: RunReport) -> bool:
    going_on = runs_open().filter(report__state="running", report__heartbeat__gt=time.time() - LEASE_SECONDS)
    if report.request:
        return going_on.exclude(SOURCES).count() < FETCHES_AT_ONCE
    return going_on.filter(SOURCES).count() < RUNS_AT_ONCE


@transaction.atomic
def job_note(*, job_id: int, report: RunReport) -> None:
    """Store how far a run is. Raises RunLostError if it was cancelled, paused, or taken over."""
    job = IngestJob.objects.select_for_update().get(pk=job_id)
    if job.report.get("token") != report.token or job.cancelled or job.paused:
        raise RunLostError
    report.heartbeat = time.time()
    IngestJob.objects.filter(pk=job_id).update(report=report.json())


def job_release(*, job_id: int, report: RunReport) -> None:
    """Give a run back that cannot go on now, so that it is taken up again later."""
    mine = IngestJob.objects.filter(pk=job_id, report__token=report.token)
    mine.update(report={**report.json(), "state": "waiting", "token": ""})


def source_claim(*, source_id: int) -> datetime | None:
    """Take a source; the time of the claim is the token of its lease. None while another run has it."""
    now = timezone.now()
    free = Source.objects.filter(~Q(outcome=Outcome.RUNNING) | Q(next_run=None) | Q(next_run__lte=now), pk=source_id)
    taken = free.update(
        outcome=Outcome.RUNNING, message="", last_run=now, next_run=now + timedelta(seconds=LEASE_SECONDS)
    )
    return now if taken else None


def source_renew(*, source_id: int, claimed: datetime) -> None:
    """Raises RunLostError if the lease ran out and another run has the source."""
    mine = Source.objects.filter(pk=source_id, outcome=Outcome.RUNNING, last_run=claimed)
    if not mine.update(next_run=timezone.now() + timedelta(seconds=LEASE_SECONDS)):
        raise RunLostError


def source_release(*, source: Source, claimed: datetime, outcome: Source.Outcome, message: str) -> None:
    """Say how it went and when it is due again; changes nothing where another run has the source."""
    schedule = Source.objects.filter(pk=source.pk).values_list("schedule", flat=True).first()  # perhaps another one now
    if schedule is None:  # it was removed
        return
    Source.objects.filter(pk=source.pk, outcome=Outcome.RUNNING, last_run=claimed).update(
        outcome=outcome, message=message[:512], next_run=next_run_after(schedule, timezone.now())
    )
