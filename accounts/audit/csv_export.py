"""The audit log as CSV that spreadsheets open without running anything."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from accounts.models import AuditEvent
from ragcore.text.csv_rows import BOM, csv_line

HEADER = ("at", "tenant", "actor", "action", "target", "details")


def csv_lines(events: Iterable[AuditEvent]) -> Iterator[str]:
    """Header and rows, one at a time; times in ISO 8601."""
    yield BOM + csv_line(HEADER)
    for event in events:
        details = json.dumps(event.data, ensure_ascii=False, sort_keys=True) if event.data else ""
        names = (event.tenant.name, event.actor_name, event.action, event.target)
        yield csv_line([event.at.isoformat(), *names, details])
