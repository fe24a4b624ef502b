"""How fast, and at which hours of the day, a source is read."""

from __future__ import annotations

import threading
import time
from datetime import datetime, timedelta

from django.utils import timezone

clock, sleep = time.monotonic, time.sleep


class Pace:
    """So many requests a minute at most, evenly. Called before each; 0: as fast as the source answers. Thread-safe."""

    def __init__(self, per_minute: int) -> None:
        self._interval = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> None:
        if not self._interval:
            return
        with self._lock:
            now = clock()
            at = max(now, self._next)
            self._next = at + self._interval
        if at > now:
            sleep(at - now)


def opens_at(hours: str, now: datetime) -> datetime | None:
    """When a source may be read next, by hours such as "22:00-06:00"; None: now. In the time zone of the site."""
    if not hours:
        return None
    local = timezone.localtime(now)
    start, end = (_minutes(part) for part in hours.split("-"))
    minute = local.hour * 60 + local.minute
    is_open = start <= minute < end if start < end else minute >= start or minute < end
    if is_open or start == end:
        return None
    opening = local.replace(hour=start // 60, minute=start % 60, second=0, microsecond=0)
    return opening if opening > local else opening + timedelta(days=1)


def _minutes(words: str) -> int:
    hour, _colon, minute = words.partition(":")
    return int(hour) * 60 + int(minute)
