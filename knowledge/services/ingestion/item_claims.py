"""Claim the items of an ingestion job in batches, and hold them.

Publishing needs no lease: the number of the version decides.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from knowledge.models import IngestItem
from knowledge.services.leases import Lease, claimable, held, rows_claim

LEASE_SECONDS = 45
RENEW_SECONDS = 2.0  # more frequent signs of life are not stored
BATCH_BYTES = 1024 * 1024  # of originals
Queue = IngestItem.Queue
BATCH_ITEMS = {Queue.INGEST: 32, Queue.EMBED: 32, Queue.OCR: 1}
SMALLEST_BATCH = 8  # below it, what a batch costs besides its items counts
SHARES = 4  # no worker takes more of what is left of a job than this part


# ── taking ──────────────────────────────────────────────────────────────────────────────────────


@transaction.atomic
def items_claim(*, job_id: int, queue: str = Queue.INGEST) -> list[IngestItem]:
    """Lease the next open items of a job's queue that nobody holds; others skip them.

    A batch is bounded in number and bytes. An item whose worker was lost is claimed alone, so that a document that
    crashes its worker affects no other one.
    """
    now = timezone.now()
    rows = (
        IngestItem.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("version__document__source")
        .defer("version__markdown", "version__sketch")
        .filter(items_free(now), job_id=job_id, queue=queue)
        .order_by("id")
    )
    items = _batch(rows[: _batch_items(job_id, queue, now)])
    were_lost = any(item.lease_until for item in items)  # then it is one item
    rows_claim(IngestItem, items, seconds=LEASE_SECONDS, losses=F("losses") + int(were_lost))
    for item in items:
        item.losses += int(were_lost)
    return items


def _batch_items(job_id: int, queue: str, now: datetime) -> int:
    """How many items to take: fewer towards the end of a job, so that its workers end at about the same time."""
    most = BATCH_ITEMS[Queue(queue)]
    left = IngestItem.objects.filter(items_free(now), job_id=job_id, queue=queue)[: SHARES * most].count()
    return min(most, max(SMALLEST_BATCH, left // SHARES))


def _batch(items: Iterable[IngestItem]) -> list[IngestItem]:
    """The first items that belong together: one that was lost, or several that were not, up to BATCH_BYTES."""
    batch: list[IngestItem] = []
    size = 0
    for item in items:
        was_lost = item.losses > 0 or item.lease_until is not None
        if batch and was_lost:
            continue
        size += item.version.size_bytes
        if batch and size > BATCH_BYTES:
            break
        batch.append(item)
        if was_lost:
            break
    return batch


def items_free(now: datetime) -> Q:
    """Items that may be claimed: open, due, held by nobody, of a job that goes on."""
    return claimable(now) & (Q(not_before=None) | Q(not_before__lte=now))


def has_free_items(*, job_id: int, queue: str) -> bool:
    """Whether another batch could be claimed now."""
    return IngestItem.objects.filter(items_free(timezone.now()), job_id=job_id, queue=queue).exists()


# ── lease ─────────────────────────────────────────────────────────────────────────────────────


def items_held(items: Sequence[IngestItem]) -> QuerySet[IngestItem]:
    """Those of the items that are open, not put off, and that nobody else has claimed since."""
    return held(IngestItem, items)


class ItemLease(Lease[IngestItem]):
    """The items that a worker holds, and its signs of life."""

    def __init__(self, items: Sequence[IngestItem]) -> None:
        super().__init__(IngestItem, items, LEASE_SECONDS)

    def alive(self, *, seconds: float = 0, **progress: int | str) -> None:
        """Give a sign of life, at least every LEASE_SECONDS; a checkpoint at which work may stop.

        `seconds`: how much longer the next one may take. `progress`: values of the items. Raises LeaseLostError.
        """
        if seconds or progress or time.monotonic() - self.renewed >= RENEW_SECONDS:
            self.renew(more_seconds=seconds, **progress)

    def progress(self, done: int, total: int) -> None:
        """Store the progress of the present stage with the next sign of life. Raises LeaseLostError."""
        if done >= total or time.monotonic() - self.renewed >= RENEW_SECONDS:
            self.renew(progress_done=done, progress_total=total)
