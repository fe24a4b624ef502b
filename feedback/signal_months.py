"""Months of signals: made ahead, and removed whole when they are older than the setting keeps."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from django.conf import settings
from django.db import transaction

from accounts.month_partitions import MonthPartitions
from feedback.models import Signal

MONTHS = MonthPartitions(table="feedback_signal", prefix="feedback_signal_", function="feedback_signal_partition")


@transaction.atomic
def signal_months_make(*, today: date | None = None) -> list[str]:
    """Make the partitions of this month and the next ones; returns the new ones.

    What was written meanwhile stands in the default partition and moves.
    """
    return MONTHS.make_ahead(today or datetime.now(UTC).date())


@transaction.atomic
def signals_expire(*, today: date | None = None) -> int:
    """Remove signals older than KEEP_SIGNALS_DAYS, if that is set; returns how many.

    Months that are over as a whole are dropped; of the month in which the limit lies the old days are deleted.
    """
    if not settings.KEEP_SIGNALS_DAYS:
        return 0
    oldest = (today or datetime.now(UTC).date()) - timedelta(days=settings.KEEP_SIGNALS_DAYS)
    removed = sum(MONTHS.drop_before(oldest).values())
    before = datetime.combine(oldest, datetime.min.time(), tzinfo=UTC)
    return removed + Signal.objects.filter(created__lt=before).delete()[0]
