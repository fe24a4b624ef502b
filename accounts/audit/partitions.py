"""Months of the audit log: made ahead, and removed whole when they are old."""

from __future__ import annotations

from datetime import UTC, date, datetime

from django.conf import settings
from django.db import transaction

from accounts.audit.events import event_add
from accounts.month_partitions import MonthPartitions, months_after
from accounts.services import tenant_ensure_default

MONTHS = MonthPartitions(
    table="accounts_auditevent", prefix="accounts_auditevent_", function="accounts_audit_partition"
)


@transaction.atomic
def audit_partitions_make(*, today: date | None = None) -> list[str]:
    """Make the partitions of this month and the next ones; returns the new ones.

    What was written meanwhile stands in the default partition and moves.
    """
    return MONTHS.make_ahead(today or datetime.now(UTC).date())


@transaction.atomic
def audit_partitions_drop(*, today: date | None = None) -> list[str]:
    """Remove months that ended AUDIT_MONTHS ago or earlier, and record it; 0 keeps everything."""
    if not settings.AUDIT_MONTHS:
        return []
    dropped = MONTHS.drop_before(months_after(today or datetime.now(UTC).date(), -settings.AUDIT_MONTHS))
    for name, events in dropped.items():
        data = {"month": name.removeprefix(MONTHS.prefix), "events": events}
        event_add(actor=None, tenant_id=tenant_ensure_default().pk, action="audit.retention", target=name, data=data)
    return list(dropped)


def audit_maintain() -> None:
    """Every night."""
    audit_partitions_make()
    audit_partitions_drop()
