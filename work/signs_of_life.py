"""Heartbeats of a worker from a thread, so that long computations need no checkpoints."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import DatabaseError, connection

logger = logging.getLogger(__name__)

BEAT_SECONDS = 10.0  # a third of the shortest lease, so that a slow database costs none


class Pulse:
    """What a worker has shown last; see `signs_of_life`."""

    def __init__(self, limit_seconds: float) -> None:
        self._limit = limit_seconds
        self._until = time.monotonic() + limit_seconds

    def checkpoint(self) -> None:
        """The work has got on: its time begins anew."""
        self._until = time.monotonic() + self._limit

    @property
    def hangs(self) -> bool:
        """Whether the work has not got on for longer than any honest work takes."""
        return time.monotonic() >= self._until


@contextmanager
def signs_of_life(
    beat: Callable[[], object], *, limit_seconds: float, every_seconds: float = BEAT_SECONDS
) -> Iterator[Pulse]:
    """Call `beat` in a thread, time and again, until the block ends, or the work inside hangs.

    `beat` extends the lease of what the block works on; it has a connection to the database of its own and must be
    fenced. After `limit_seconds` without a checkpoint no sign is given any more, and the lease lapses.
    """
    pulse, over = Pulse(limit_seconds), threading.Event()
    thread = threading.Thread(target=_beats, args=(beat, pulse, over, every_seconds), name="signs of life", daemon=True)
    thread.start()
    try:
        yield pulse
    finally:
        over.set()
        thread.join()


def _beats(beat: Callable[[], object], pulse: Pulse, over: threading.Event, every_seconds: float) -> None:
    while not over.wait(every_seconds):
        if pulse.hangs:
            logger.error("work gives no sign of life any more: it has not got on for too long")
            return
        try:
            beat()
        except DatabaseError as error:
            logger.warning("a sign of life could not be written: %s", error)
        finally:
            connection.close()  # of this thread; beats are far apart
