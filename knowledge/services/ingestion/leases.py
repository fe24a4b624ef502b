"""Who works on which item, and until when.

Claiming counts the attempts of an item, so (item, attempt) names one holder: what a worker writes about an item counts
only while it is still the last that claimed it. Publishing needs no such check, the number of the version decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import reduce
from operator import or_

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from knowledge.models import IngestItem

LEASE_SECONDS = 180
BATCH_ITEMS = 16


@transaction.atomic
def items_claim(*, job_id: int, limit: int = BATCH_ITEMS) -> list[IngestItem]:
    """Lease up to `limit` open items of a job that nobody holds; others skip them."""
    now = timezone.now()
    items = list(
        IngestItem.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("version__document")
        .filter(_free(now), job_id=job_id, finished=None)
        .order_by("id")[:limit]
    )
    IngestItem.objects.filter(pk__in=[item.pk for item in items]).update(
        lease_until=now + timedelta(seconds=LEASE_SECONDS), heartbeat=now, attempt=F("attempt") + 1
    )
    for item in items:
        item.attempt += 1
    return items


def _free(now: object) -> Q:
    return (Q(lease_until=None) | Q(lease_until__lt=now)) & (Q(not_before=None) | Q(not_before__lte=now))


def held(items: Sequence[IngestItem]) -> QuerySet[IngestItem]:
    """Those of the items that are open, not put off, and that nobody else has claimed since."""
    mine = (Q(pk=item.pk, attempt=item.attempt) for item in items)
    return IngestItem.objects.filter(reduce(or_, mine, Q(pk__in=())), finished=None, lease_until__isnull=False)


def leases_renew(items: Sequence[IngestItem]) -> None:
    """A sign of life, to be given more often than every LEASE_SECONDS."""
    now = timezone.now()
    held(items).update(heartbeat=now, lease_until=now + timedelta(seconds=LEASE_SECONDS))


def stage_set(items: Sequence[IngestItem], stage: str) -> None:
    """Record that these items have reached a stage; a sign of life."""
    held(items).update(stage=stage)
    leases_renew(items)


def has_free_items(*, job_id: int) -> bool:
    """Whether another batch could be claimed now."""
    return IngestItem.objects.filter(_free(timezone.now()), job_id=job_id, finished=None).exists()
