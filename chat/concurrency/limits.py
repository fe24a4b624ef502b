"""How many questions a person, a key and a tenant may ask in a minute."""

from __future__ import annotations

import asyncio
import logging
from math import ceil

from django.conf import settings
from redis.exceptions import RedisError

from accounts.errors import RateLimitedError
from accounts.models import User
from accounts.sliding_window import COUNT_OR_WAIT, WINDOW_SECONDS
from chat import metrics
from chat.concurrency.redis_client import client
from chat.errors import InvalidAnswerRequestError

logger = logging.getLogger(__name__)

REDIS_SECONDS = 1.0  # then the question is answered uncounted


async def count_questions_or_raise(user: User, *, key: str = "", questions: int = 1) -> None:
    """Count questions of a person by whatever way they come, of their key and their tenant; refused ones do not count.

    No 60 seconds have more than QUESTIONS_PER_MINUTE of a person, QUESTIONS_PER_MINUTE_PER_KEY of the key with this
    tag, and QUESTIONS_PER_MINUTE_PER_TENANT (0: no limit). One round trip to Redis, where it happens in one
    piece; a Redis that does not answer within a second lets questions pass uncounted.

    Raises RateLimitedError with the seconds after which these questions have a place, and InvalidAnswerRequestError
    for more questions at once than a minute has.
    """
    limited = _limits(user, key)
    if not limited:
        return
    if questions > min(limited.values()):
        raise InvalidAnswerRequestError("too_many_questions", questions=questions, limit=min(limited.values()))
    try:
        async with asyncio.timeout(REDIS_SECONDS):
            count = client().register_script(COUNT_OR_WAIT)
            window = WINDOW_SECONDS * 1_000_000
            wait, which = map(int, await count(keys=list(limited), args=[window, questions, *limited.values()]))
    except (RedisError, TimeoutError, OSError) as error:
        metrics.UNCOUNTED.inc(questions)
        logger.warning("questions of user %s are not counted: %s", user.pk, error)
        return
    if wait > 0:
        metrics.RATE_LIMITED.inc(questions)
        limit = list(limited.values())[which - 1]
        raise RateLimitedError(retry_after_seconds=ceil(wait / 1_000_000), questions_per_minute=limit)


def _limits(user: User, key: str) -> dict[str, int]:
    """The counters of a question, with their limits; none where there is no limit."""
    limits = {
        f"rate:{user.pk}": settings.QUESTIONS_PER_MINUTE,
        f"rate:key:{key}": settings.QUESTIONS_PER_MINUTE_PER_KEY if key else 0,
        f"rate:tenant:{user.tenant_id}": settings.QUESTIONS_PER_MINUTE_PER_TENANT,
    }
    return {name: limit for name, limit in limits.items() if limit}
