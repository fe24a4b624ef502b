"""A limit of time for what runs in the main thread: in Python code, in regular expressions and in waiting."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LEAST_SECONDS = 0.001  # 0 would mean never


class DeadlinePassedError(BaseException):
    """The time is over. No Exception: what catches all of those must not go on."""


@contextmanager
def deadline(seconds: float) -> Iterator[Callable[[], None]]:
    """Raise DeadlinePassedError inside when the time is over; what is yielded begins it anew.

    An outer deadline waits while an inner one runs. Outside of the main thread there is none: signals reach no other.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return

    def stop(*_: object) -> None:
        raise DeadlinePassedError

    begun = time.monotonic()
    before = signal.signal(signal.SIGALRM, stop)
    outer_seconds, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield lambda: _restart(seconds)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer_seconds:
            signal.setitimer(signal.ITIMER_REAL, max(outer_seconds - (time.monotonic() - begun), LEAST_SECONDS))


def _restart(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_REAL, seconds)
