"""Open items of ingestion in all tenants: which ones workers may take, and whether any of it goes on."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q
from django.utils import timezone

from knowledge.models import IngestItem
from work.leases import lease_is_over


def items_free(now: datetime) -> Q:
    """Items that may be claimed: open, due, held by nobody, of a job that goes on."""
    goes_on = Q(finished=None, job__paused=None, job__cancelled=None)
    return lease_is_over(now) & goes_on & (Q(not_before=None) | Q(not_before__lte=now))


def ingestion_is_active() -> bool:
    """Whether a worker holds an item: work that can wait leaves the processors and models to it."""
    return IngestItem.objects.filter(finished=None, lease_until__gt=timezone.now()).exists()


def ingestion_goes_on() -> bool:
    """Whether a worker holds an item, or could take one now: between two batches, too."""
    return ingestion_is_active() or IngestItem.objects.filter(items_free(timezone.now())).exists()
