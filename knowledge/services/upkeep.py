"""Delays upkeep of the whole corpus until ingestion pauses.

What ingestion has changed is looked at when the last document is through, and not after each batch: refusal lines and
entities would take the processors from ingestion and from questions, and be out of date at once.
"""

from __future__ import annotations

import logging
import time
from datetime import timedelta

from django.core.cache import cache
from redis import RedisError

from knowledge.queue import DRAW_REFUSAL_LINES, READ_ENTITIES, RECORD_DUPLICATES, REFRESH_INDEXES, enqueue_on_commit
from knowledge.services.open_items import ingestion_goes_on
from work.queue import due_enqueue

logger = logging.getLogger(__name__)

AFTER_INGESTION = (RECORD_DUPLICATES, REFRESH_INDEXES, DRAW_REFUSAL_LINES)
SETTLE_SECONDS = 3  # jobs of one load follow one another more quickly
FITTED_WITHIN = timedelta(minutes=30)  # what is made of the whole corpus: refusal lines
READ_WITHIN = timedelta(minutes=10)  # what each document is read for


def ingestion_ended() -> None:
    """Starts delayed upkeep after SETTLE_SECONDS if no ingestion is left; call it at the end of a batch.

    Further calls meanwhile have no effect. A lost message is made up for by the scheduler.
    """
    if not ingestion_goes_on() and _is_first():
        for name in AFTER_INGESTION:
            enqueue_on_commit(name, countdown_seconds=SETTLE_SECONDS + 1)
        due_enqueue(READ_ENTITIES, countdown_seconds=SETTLE_SECONDS + 1)


def _is_first() -> bool:
    try:
        return bool(cache.add("knowledge.ingestion_ended", 1, timeout=SETTLE_SECONDS))
    except RedisError as error:  # the batch is through all the same
        logger.warning("what waits for the end of ingestion is left to the scheduler: %s", error)
        return False


def put_off(work: str, *, at_most: timedelta) -> bool:
    """Whether work that is due should wait for ingestion: while it goes on, `at_most` from the first call on.

    Once it need not wait any more, the time begins anew.
    """
    key = f"knowledge.put_off.{work}"
    if ingestion_goes_on():
        now, seconds = time.time(), at_most.total_seconds()
        first = cache.get_or_set(key, now, timeout=2 * seconds)
        if first is None or now - first < seconds:
            return True
    cache.delete(key)
    return False
