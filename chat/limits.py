"""How many questions one person may ask in a minute (V13)."""

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
from chat.errors import InvalidAnswerRequestError
from chat.redis_client import client

logger = logging.getLogger(__name__)

REDIS_SECONDS = 1.0  # then the question is answered uncounted


async def count_questions_or_raise(user: User, *, questions: int = 1) -> None:
    """Count questions of a person, by whatever key, session or protocol they come; what is refused is not counted.

    No 60 seconds have more than QUESTIONS_PER_MINUTE (0: no limit). One round trip to Redis, where it happens in one
    piece; a Redis that does not answer within a second lets questions pass uncounted.

    Raises RateLimitedError with the seconds after which these questions have a place, and InvalidAnswerRequestError
    for more questions at once than a minute has.
    """
    limit = settings.QUESTIONS_PER_MINUTE
    if not limit:
        return
    if questions > limit:
        raise InvalidAnswerRequestError("too_many_questions", questions=questions, limit=limit)
    try:
        async with asyncio.timeout(REDIS_SECONDS):
            count = client().register_script(COUNT_OR_WAIT)
            wait = int(await count(keys=[f"rate:{user.pk}"], args=[WINDOW_SECONDS * 1_000_000, limit, questions]))
    except (RedisError, TimeoutError, OSError) as error:
        metrics.UNCOUNTED.inc(questions)
        logger.warning("questions of user %s are not counted: %s", user.pk, error)
        return
    if wait > 0:
        metrics.RATE_LIMITED.inc(questions)
        raise RateLimitedError(retry_after_seconds=ceil(wait / 1_000_000), questions_per_minute=limit)
