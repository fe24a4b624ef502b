"""Who works on which item, and until when.

Claiming counts the attempts of an item, so (item, attempt) names one holder: what a worker writes about an item counts
only while it is still the last that claimed it. Publishing needs no such check, the number of the version decides.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import reduce
from operator import or_

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from knowledge.models import IngestItem

LEASE_SECONDS = 45
RENEW_SECONDS = 2.0  # signs of life that come faster are not written down
BATCH_BYTES = 1024 * 1024  # of originals
Queue = IngestItem.Queue
BATCH_ITEMS = {Queue.INGEST: 32, Queue.EMBED: 32, Queue.OCR: 1}
SMALLEST_BATCH = 8  # below it, what a batch costs besides its items counts
SHARES = 4  # no worker takes more of what is left of a job than this part


class WorkStoppedError(Exception):
    """The job was paused or cancelled, or other workers have taken all items over. Nothing failed."""


# ── taking ──────────────────────────────────────────────────────────────────────────────────────


@transaction.atomic
def items_claim(*, job_id: int, queue: str = Queue.INGEST) -> list[IngestItem]:
    """Lease the next open items of a job's queue that nobody holds; others skip them.

    A batch is bounded in number and bytes. An item whose worker was lost is taken alone, so that one document that
    ends its worker does so to no other.
    """
    now = timezone.now()
    rows = (
        IngestItem.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("version__document__source")
        .defer("version__markdown", "version__sketch")
        .filter(free(now), job_id=job_id, queue=queue)
        .order_by("id")
    )
    items = _batch(rows[: _batch_items(job_id, queue, now)])
    IngestItem.objects.filter(pk__in=[item.pk for item in items]).update(
        lease_until=now + timedelta(seconds=LEASE_SECONDS),
        heartbeat=now,
        attempt=F("attempt") + 1,
        losses=F("losses") + int(any(item.lease_until for item in items)),
    )
    for item in items:
        item.attempt += 1
        item.losses += int(item.lease_until is not None)
    return items


def _batch_items(job_id: int, queue: str, now: object) -> int:
    """How many items to take: fewer towards the end of a job, so that its workers end at about the same time."""
    most = BATCH_ITEMS[Queue(queue)]
    left = IngestItem.objects.filter(free(now), job_id=job_id, queue=queue)[: SHARES * most].count()
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


def free(now: object) -> Q:
    """Items that may be claimed: open, due, held by nobody, of a job that goes on."""
    nobody = Q(lease_until=None) | Q(lease_until__lt=now)
    due = Q(not_before=None) | Q(not_before__lte=now)
    return nobody & due & Q(finished=None, job__paused=None, job__cancelled=None)


def has_free_items(*, job_id: int, queue: str) -> bool:
    """Whether another batch could be claimed now."""
    return IngestItem.objects.filter(free(timezone.now()), job_id=job_id, queue=queue).exists()


# ── holding ─────────────────────────────────────────────────────────────────────────────────────


def held(items: Sequence[IngestItem]) -> QuerySet[IngestItem]:
    """Those of the items that are open, not put off, and that nobody else has claimed since."""
    mine = (Q(pk=item.pk, attempt=item.attempt) for item in items)
    return IngestItem.objects.filter(reduce(or_, mine, Q(pk__in=())), finished=None, lease_until__isnull=False)


@dataclass(slots=True)
class ItemLease:
    """The items that a worker holds, and its signs of life. Not to be shared between threads."""

    items: Sequence[IngestItem]
    _renewed: float = field(default_factory=time.monotonic)

    def only(self, item: IngestItem) -> ItemLease:
        """A holding of one of the items, for what concerns only that one."""
        return ItemLease([item])

    def alive(self, *, seconds: float = 0, **progress: int | str) -> None:
        """A sign of life, to be given more often than every LEASE_SECONDS; a checkpoint at which work may stop.

        `seconds`: how much longer the next one may take. `progress`: values of the items. Raises WorkStoppedError.
        """
        now = time.monotonic()
        if not seconds and not progress and now - self._renewed < RENEW_SECONDS:
            return
        self._renewed = now
        moment = timezone.now()
        lease = moment + timedelta(seconds=LEASE_SECONDS + seconds)
        going_on = held(self.items).filter(job__paused=None, job__cancelled=None)
        if not going_on.update(heartbeat=moment, lease_until=lease, **progress):
            raise WorkStoppedError

    def progress(self, done: int, total: int) -> None:
        """How far the present stage is; written down with the next sign of life. Raises WorkStoppedError."""
        if done >= total or time.monotonic() - self._renewed >= RENEW_SECONDS:
            self.alive(progress_done=done, progress_total=total)

    def release(self) -> None:
        """Give the items back as they are."""
        held(self.items).update(lease_until=None)
