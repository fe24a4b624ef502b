"""Leases of one worker on rows: ingestion items and source runs.

A claim counts the attempts of a row, so (row, attempt) names one holder: what a worker writes about a row counts only
while it is still the last one that claimed it. A lease ends by itself, where its worker died.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone

from knowledge.models.jobs import IngestItem, LeasedWork
from knowledge.services.fencing import fenced_rows

Work = TypeVar("Work", bound=LeasedWork)


class LeaseLostError(Exception):
    """The job was paused or cancelled, or other workers have claimed all the rows. Nothing failed."""


def claimable(now: datetime) -> Q:
    """Unfinished rows that nobody holds, of jobs that go on."""
    return (Q(lease_until=None) | Q(lease_until__lt=now)) & Q(finished=None, job__paused=None, job__cancelled=None)


def held(model: type[Work], rows: Sequence[Work]) -> QuerySet[Work]:
    """Those of the rows that are unfinished, have a lease, and that nobody else has claimed since."""
    return fenced_rows(model, rows).filter(finished=None, lease_until__isnull=False)


def rows_claim(model: type[Work], rows: Sequence[Work], *, seconds: float, **values: Any) -> None:
    """Give the caller a lease on locked rows, which are brought up to date; `values` are written as well."""
    now = timezone.now()
    objects: QuerySet[Work] = model._default_manager.all()
    objects.filter(pk__in=[row.pk for row in rows]).update(
        lease_until=now + timedelta(seconds=seconds), heartbeat=now, attempt=F("attempt") + 1, **values
    )
    for row in rows:
        row.attempt += 1


def ingestion_is_active() -> bool:
    """Whether a worker holds an item: work that can wait leaves the processors and models to it."""
    return IngestItem.objects.filter(finished=None, lease_until__gt=timezone.now()).exists()


def ingestion_goes_on() -> bool:
    """Whether a worker holds an item, or could take one now: between two batches, too."""
    now = timezone.now()
    due = Q(not_before=None) | Q(not_before__lte=now)
    return ingestion_is_active() or IngestItem.objects.filter(claimable(now), due).exists()


@dataclass(slots=True)
class Lease(Generic[Work]):
    """The rows that a worker holds. Only `extend` is for other threads."""

    model: type[Work]
    rows: Sequence[Work]
    seconds: float  # until it ends, from the last renewal
    renewed: float = field(default_factory=time.monotonic)
    checkpoint: Callable[[], None] = lambda: None  # heard at every sign of life that the work itself gives

    def renew(self, *, more_seconds: float = 0, **values: Any) -> None:
        """Write a sign of life and `values` on the rows; a checkpoint at which work may stop.

        `more_seconds`: how much later than usual the next renewal may come. Raises LeaseLostError.
        """
        self.renewed = time.monotonic()
        now = timezone.now()
        columns = {"heartbeat": now, "lease_until": now + timedelta(seconds=self.seconds + more_seconds), **values}
        going_on = held(self.model, self.rows).filter(job__paused=None, job__cancelled=None)
        if not going_on.update(**columns):
            raise LeaseLostError

    def extend(self) -> None:
        """Give a sign of life from another thread: the lease lasts on, where it is still held."""
        now = timezone.now()
        until = Greatest(F("lease_until"), now + timedelta(seconds=self.seconds))
        held(self.model, self.rows).update(heartbeat=now, lease_until=until)

    def release(self, **values: Any) -> bool:
        """Give the rows back and write `values` on them; False if none of them was held any more."""
        return held(self.model, self.rows).update(lease_until=None, **values) > 0
