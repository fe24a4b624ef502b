"""Finding items that nobody works on any more."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from knowledge.models import IngestItem, IngestJob
from knowledge.queue import ADVANCE_INGESTION, enqueue_on_commit

FORGOTTEN_SECONDS = 30  # a received item that no worker has taken by then has perhaps lost its message
REPEAT_SECONDS = 60  # between two messages for the same job: it may only be waiting in a long queue


@transaction.atomic
def leases_sweep() -> list[int]:
    """Queue every job that has items with an expired lease, or without one; returns the job ids.

    A job that shows signs of life is left alone: whoever works on it goes on with its other items, and more messages
    would only let it take more than its share of the workers.
    """
    now = timezone.now()
    silent_since = now - timedelta(seconds=FORGOTTEN_SECONDS)
    mine = IngestItem.objects.filter(job=OuterRef("pk"), finished=None)
    due = Q(not_before=None) | Q(not_before__lte=now)
    expired, waiting = mine.filter(due, lease_until__lt=now), mine.filter(due, lease_until=None)
    jobs = IngestJob.objects.filter(
        Q(swept=None) | Q(swept__lt=now - timedelta(seconds=REPEAT_SECONDS)),
        Exists(expired) | (Q(created__lt=silent_since) & Exists(waiting)),
        ~Exists(mine.filter(lease_until__gt=now, heartbeat__gt=silent_since)),
    )
    found = list(jobs.order_by("pk").values_list("pk", flat=True))
    IngestJob.objects.filter(pk__in=found).update(swept=now)
    for job_id in found:
        enqueue_on_commit(ADVANCE_INGESTION, job_id=job_id)
    return found
