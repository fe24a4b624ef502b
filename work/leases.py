"""Leases: a worker holds rows until a time, after which the next one may take them over.

For models with a fence (`work.fencing`) that is the number `attempt`, and a time `lease_until`: jobs, items of
ingestion, mails.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db import models
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone

from work.fencing import fenced_rows

Row = TypeVar("Row", bound=models.Model)


def lease_is_over(now: datetime) -> Q:
    """Condition on rows: no worker holds them."""
    return Q(lease_until=None) | Q(lease_until__lt=now)


def leased(model: type[Row], rows: Sequence[Row]) -> QuerySet[Row]:
    """Those of the rows that still have the lease of their claim."""
    return fenced_rows(model, rows).filter(lease_until__isnull=False)


def lease_begin(model: type[Row], rows: Sequence[Row], *, duration: timedelta, **values: Any) -> None:
    """Give the caller a lease on locked rows, which are brought up to date; `values` are written as well."""
    until = timezone.now() + duration
    objects = model._default_manager.filter(pk__in=[row.pk for row in rows])
    objects.update(lease_until=until, attempt=F("attempt") + 1, **values)
    for row in rows:
        row.attempt += 1  # type: ignore[attr-defined]
        row.lease_until = until  # type: ignore[attr-defined]


def lease_extend(rows: QuerySet[Row], *, duration: timedelta, **values: Any) -> bool:
    """Let the lease of fenced rows last at least so long from now; False where none of them is held any more."""
    until = Greatest(F("lease_until"), timezone.now() + duration)
    return rows.update(lease_until=until, **values) > 0


def lease_end(rows: QuerySet[Row], **values: Any) -> bool:
    """Give fenced rows back, with `values`; False where none of them was held any more."""
    return rows.update(lease_until=None, **values) > 0
