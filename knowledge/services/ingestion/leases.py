"""Who works on which item, and until when."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q
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


def stage_set(items: list[IngestItem], stage: str) -> None:
    """Record that these items have reached a stage; a sign of life that renews their leases."""
    now = timezone.now()
    IngestItem.objects.filter(pk__in=[item.pk for item in items], finished=None).update(
        stage=stage, heartbeat=now, lease_until=now + timedelta(seconds=LEASE_SECONDS)
    )


def has_free_items(*, job_id: int) -> bool:
    """Whether another batch could be claimed now."""
    return IngestItem.objects.filter(_free(timezone.now()), job_id=job_id, finished=None).exists()
