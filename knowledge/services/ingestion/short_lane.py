"""Reads waiting small files in a thread beside long work.

A long document keeps its worker for minutes, in whichever stage it is, and with as many of them as workers everybody
else would wait. The thread begins only when work lasts, and takes small files alone, so each worker has a second lane
for them: with one worker, too, and however many long documents one person uploads. Long ones go on beside it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import connection
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from knowledge.models import IngestItem
from knowledge.services.open_items import items_free

logger = logging.getLogger(__name__)
Queue = IngestItem.Queue

SMALL_BYTES = 1024 * 1024  # of an original; if much text comes out of it, another queue goes on with it
LOOK_SECONDS = 2.0  # between two looks at what waits
WAITED_SECONDS = 4.0  # by files that no worker has taken
JOBS_AT_ONCE = 4
END_SECONDS = 60.0  # that a worker waits for the lane beside it before it goes on without
Serve = Callable[[int, str], object]

_lane = threading.Lock()  # one in each process


def short_items() -> Q:
    """Small files for the lane: none that has cost a worker, because deadlines hold in the main thread only."""
    is_long_text = Q(queue=Queue.EMBED, stage=IngestItem.Stage.CLEANED)
    fresh = Q(version__size_bytes__lte=SMALL_BYTES, losses=0, lease_until=None)
    return fresh & ~is_long_text & Q(queue__in=[Queue.INGEST, Queue.EMBED])


SHORT = short_items()


@contextmanager
def short_lane(serve: Serve) -> Iterator[None]:
    """While the block runs, call `serve(job_id, queue)` in a thread for each job whose small files have waited."""
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(serve, over), name="short lane", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(END_SECONDS)
        if thread.is_alive():
            logger.warning("small files are still read beside the next work")


def _watch(serve: Serve, over: threading.Event) -> None:
    while not over.wait(LOOK_SECONDS):
        if not _lane.acquire(blocking=False):
            continue
        try:
            lane_serve(serve, over)
        except Exception:
            logger.exception("small files could not be read beside long work; their own message is still there")
        finally:
            _lane.release()
            connection.close()  # of this thread; looks are far apart


def lane_serve(serve: Serve, over: threading.Event) -> None:
    """One batch of each job that has waited longest, until the long work is over."""
    for job_id, queue in _waiting_jobs():
        if over.is_set():
            return
        serve(job_id, queue)


def _waiting_jobs() -> list[tuple[int, str]]:
    """Jobs, oldest first, whose small files nobody reads, with the queue in which they wait."""
    now = timezone.now()
    small = IngestItem.objects.filter(version__size_bytes__lte=SMALL_BYTES)
    at_work = small.filter(job=OuterRef("job"), queue=OuterRef("queue"), finished=None, lease_until__gt=now)
    since = now - timedelta(seconds=WAITED_SECONDS)
    waiting = IngestItem.objects.filter(items_free(now), SHORT, ~Exists(at_work), job__created__lt=since)
    rows = waiting.order_by("job_id", "queue").values_list("job_id", "queue").distinct()
    return list(rows[:JOBS_AT_ONCE])
