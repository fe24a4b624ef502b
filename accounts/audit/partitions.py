"""Months of the audit log: made ahead, and removed whole when they are old."""

from __future__ import annotations

from datetime import UTC, date, datetime

from django.conf import settings
from django.db import connection, transaction
from psycopg import sql

from accounts.audit.events import event_add
from accounts.services import tenant_ensure_default

PREFIX = "accounts_auditevent_"
MONTHS_AHEAD = 2
PARTITIONS = """
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'accounts_auditevent'::regclass AND c.relname ~ '_[0-9]{6}$' ORDER BY c.relname
"""


@transaction.atomic
def audit_partitions_make(*, today: date | None = None) -> list[str]:
    """Make the partitions of this month and the next ones; returns the new ones.

    What was written meanwhile stands in the default partition and moves.
    """
    first = _months_after(today or datetime.now(UTC).date(), 0)
    made = []
    with connection.cursor() as cursor:
        for ahead in range(MONTHS_AHEAD + 1):
            cursor.execute("SELECT accounts_audit_partition(%s)", [_months_after(first, ahead)])
            (name,) = cursor.fetchone()
            made += [name] if name else []
    return made


@transaction.atomic
def audit_partitions_drop(*, today: date | None = None) -> list[str]:
    """Remove months that ended AUDIT_MONTHS ago or earlier, and record it; 0 keeps everything."""
    if not settings.AUDIT_MONTHS:
        return []
    oldest = _months_after(today or datetime.now(UTC).date(), -settings.AUDIT_MONTHS)
    with connection.cursor() as cursor:
        cursor.execute(PARTITIONS)
        old = [name for (name,) in cursor.fetchall() if name.removeprefix(PREFIX) < f"{oldest:%Y%m}"]
        for name in old:
            cursor.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(name)))
            (events,) = cursor.fetchone()
            cursor.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))
            data = {"month": name.removeprefix(PREFIX), "events": events}
            event_add(
                actor=None, tenant_id=tenant_ensure_default().pk, action="audit.retention", target=name, data=data
            )
    return old


def audit_maintain() -> None:
    """Every night."""
    audit_partitions_make()
    audit_partitions_drop()


def _months_after(day: date, months: int) -> date:
    """The first day of the month so many months later."""
    number = day.year * 12 + day.month - 1 + months
    return date(number // 12, number % 12 + 1, 1)
