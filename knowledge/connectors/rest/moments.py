"""Moments as systems write them: ISO 8601 in its forms, seconds or milliseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

FIRST_MILLISECONDS = 100_000_000_000  # as seconds the year 5138
EPOCH = "epoch"


def moment_of(value: Any) -> datetime | None:
    """A moment in UTC; one without a zone is taken for UTC. None for what is no moment."""
    if value is None or isinstance(value, bool):
        return None
    text = str(value).strip()
    try:
        if text.isascii() and text.isdigit() and len(text) in (9, 10, 12, 13):
            number = int(text)
            return datetime.fromtimestamp(number / 1000 if number >= FIRST_MILLISECONDS else number, UTC)
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None


def moment_text(moment: datetime, form: str) -> str:
    """As a query wants it: `form` of strftime, or "epoch"."""
    return str(int(moment.timestamp())) if form == EPOCH else moment.astimezone(UTC).strftime(form)
