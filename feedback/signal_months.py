"""Months of signals: made ahead, and removed whole when they are older than the setting keeps (D35)."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from django.conf import settings
from django.db import connection, transaction
from psycopg import sql

from feedback.models import Signal

PREFIX = "feedback_signal_"
MONTHS_AHEAD = 2
PARTITIONS = """
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'feedback_signal'::regclass AND c.relname ~ '_[0-9]{6}$' ORDER BY c.relname
"""


@transaction.atomic
def signal_months_make(*, today: date | None = None) -> list[str]:
    """Make the partitions of this month and the next ones; returns the new ones.

    What was written meanwhile stands in the default partition and moves.
    """
    first, made = today or datetime.now(UTC).date(), []
    with connection.cursor() as cursor:
        for ahead in range(MONTHS_AHEAD + 1):
            cursor.execute("SELECT feedback_signal_partition(%s)", [_months_after(first, ahead)])
            (name,) = cursor.fetchone()
            made += [name] if name else []
    return made


@transaction.atomic
def signals_expire(*, today: date | None = None) -> int:
    """Remove signals older than KEEP_SIGNALS_DAYS, if that is set; returns how many.

    Months that are over as a whole are dropped; of the month in which the limit lies the old days are deleted.
    """
    if not settings.KEEP_SIGNALS_DAYS:
        return 0
    oldest = (today or datetime.now(UTC).date()) - timedelta(days=settings.KEEP_SIGNALS_DAYS)
    removed = 0
    with connection.cursor() as cursor:
        cursor.execute(PARTITIONS)
        old = [name for (name,) in cursor.fetchall() if name.removeprefix(PREFIX) < f"{oldest:%Y%m}"]
        for name in old:
            cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name)))
            removed += cursor.fetchone()[0]
            cursor.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))
    before = datetime.combine(oldest, datetime.min.time(), tzinfo=UTC)
    return removed + Signal.objects.filter(created__lt=before).delete()[0]


def _months_after(day: date, months: int) -> date:
    """The first day of the month so many months later."""
    number = day.year * 12 + day.month - 1 + months
    return date(number // 12, number % 12 + 1, 1)
