"""Start runs: by a person, for a set that is composed of sources, or by schedule."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.errors import RunBrokenOffError
from knowledge.models import IngestJob, Source, SyncRun
from knowledge.queue import RUN_SYNC, enqueue_on_commit
from knowledge.selectors import set_owned
from knowledge.selectors.sources import source_managed
from knowledge.services.sources.items import LISTED_KINDS
from knowledge.services.sources.sync_claims import INTERVALS, next_run_after, runs_next, runs_open
from knowledge.services.sources.sync_report import RunReport

FORGOTTEN_SECONDS = 90.0  # the message of a run that nobody has claimed by then may be lost
SENT_AT_ONCE = 20  # of them; most find that it is not their turn


@transaction.atomic
def source_run_start(*, scope: Scope, actor: User, source_id: int) -> IngestJob:
    """Run a source now; returns the waiting or running job instead of starting a second one.

    Raises NotFoundError, NotAllowedError.
    """
    source = source_managed(scope=scope, source_id=source_id)
    Source.objects.select_for_update().get(pk=source.pk)
    for run in runs_open().filter(job__source=source).select_related("job"):
        return run.job
    audit_record(actor=actor, action="source.run", target=source.name, source=source.pk)
    return run_open(sources=[source], actor=actor, trigger="person")


@transaction.atomic
def set_ingest(*, scope: Scope, actor: User, set_id: int) -> IngestJob:
    """Run all enabled sources of a set, and add matching documents to the set (D12).

    Raises NotFoundError, NotAllowedError.
    """
    chosen = set_owned(scope=scope, set_id=set_id)
    sources = list(Source.objects.filter(set_sources__knowledge_set=chosen, enabled=True).order_by("pk"))
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
        kind__in=LISTED_KINDS, enabled=True, next_run__lte=now, schedule__in=[str(name) for name in INTERVALS]
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
