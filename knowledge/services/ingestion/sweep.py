"""Finding items that nobody works on any more."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from knowledge.models import IngestItem, IngestJob
from knowledge.queue import advance_enqueue
from knowledge.services.ingestion.leases import free

FORGOTTEN_SECONDS = 30  # an item that no worker has taken by then has perhaps lost its message
REPEAT_SECONDS = 60  # between two messages for the same job: it may only be waiting in a long queue


@transaction.atomic
def leases_sweep() -> list[int]:
    """Call workers to every job that has items with an expired lease, or without one; returns the job ids.

    A queue in which a job shows signs of life is left alone: whoever works there goes on with its other items, and more
    messages would only let the job take more than its share of the workers.
    """
    now = timezone.now()
    silent_since = now - timedelta(seconds=FORGOTTEN_SECONDS)
    forgotten = Q(lease_until__isnull=False) | Q(job__created__lt=silent_since)
    recently = Q(job__swept__gte=now - timedelta(seconds=REPEAT_SECONDS))
    at_work = IngestItem.objects.filter(
        job=OuterRef("job"), queue=OuterRef("queue"), finished=None, lease_until__gt=now, heartbeat__gt=silent_since
    )
    rows = IngestItem.objects.filter(free(now), forgotten, ~recently, ~Exists(at_work))
    found = sorted(set(rows.order_by().values_list("job_id", "queue").distinct()))
    jobs = sorted({job_id for job_id, _ in found})
    IngestJob.objects.filter(pk__in=jobs).update(swept=now)
    for job_id, queue in found:
        advance_enqueue(job_id=job_id, queue=queue)
    return jobs
