"""Waiting for a condition of the outside world."""

from __future__ import annotations

import time
from collections.abc import Callable

PAUSE_SECONDS = 0.05


def wait_until(condition: Callable[[], bool], *, seconds: float, unless: Callable[[], bool] = lambda: False) -> bool:
    """Whether the condition came true in time; gives up early when `unless` does."""
    deadline = time.monotonic() + seconds
    while not condition():
        if unless() or time.monotonic() >= deadline:
            return False
        time.sleep(PAUSE_SECONDS)
    return True
