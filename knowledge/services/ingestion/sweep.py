"""Finding items that nobody works on any more."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from knowledge.models import IngestItem
from knowledge.queue import ADVANCE_INGESTION, enqueue_on_commit

FORGOTTEN_SECONDS = 30  # a received item that no worker has taken by then has lost its message


@transaction.atomic
def leases_sweep() -> list[int]:
    """Queue every job that has items with an expired lease, or without one; returns the job ids."""
    now = timezone.now()
    forgotten = Q(lease_until=None, job__created__lt=now - timedelta(seconds=FORGOTTEN_SECONDS))
    due = Q(not_before=None) | Q(not_before__lte=now)
    jobs = (
        IngestItem.objects.filter(due, Q(lease_until__lt=now) | forgotten, finished=None)
        .order_by("job_id")
        .values_list("job_id", flat=True)
        .distinct()
    )
    found = list(jobs)
    for job_id in found:
        enqueue_on_commit(ADVANCE_INGESTION, job_id=job_id)
    return found
