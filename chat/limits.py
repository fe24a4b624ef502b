"""How many questions one person may ask in a minute (V13)."""

from __future__ import annotations

import asyncio
import logging
from math import ceil
from typing import Final

from django.conf import settings
from redis.exceptions import RedisError

from accounts.models import User
from chat import metrics
from chat.errors import InvalidAnswerRequestError
from chat.redis_client import client
from ragcore.errors import TransientError

logger = logging.getLogger(__name__)

WINDOW_SECONDS = 60
REDIS_SECONDS = 1.0  # then the question is answered uncounted

# The questions of the last minute, each with its time in microseconds, by the clock of Redis: every web process counts
# in the same one. Answers the microseconds after which so many questions have a place; 0: they have, and are counted.
_COUNT: Final = """
local now = redis.call('TIME')
local at = now[1] * 1000000 + now[2]
local window, limit, asked = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', at - window)
local over = redis.call('ZCARD', KEYS[1]) + asked - limit
if over > 0 then
  local last = redis.call('ZRANGE', KEYS[1], over - 1, over - 1, 'WITHSCORES')
  return last[2] + window - at
end
for number = 1, asked do
  redis.call('ZADD', KEYS[1], at, string.format('%.0f-%d', at, number))
end
redis.call('PEXPIRE', KEYS[1], math.ceil(window / 1000))
return 0
"""


class RateLimitedError(TransientError):
    """This person has asked as many questions in the last minute as they may."""

    code = "rate_limited"
    default_message = "Too many requests."


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
            count = client().register_script(_COUNT)
            wait = int(await count(keys=[f"rate:{user.pk}"], args=[WINDOW_SECONDS * 1_000_000, limit, questions]))
    except (RedisError, TimeoutError, OSError) as error:
        metrics.UNCOUNTED.inc(questions)
        logger.warning("questions of user %s are not counted: %s", user.pk, error)
        return
    if wait > 0:
        metrics.RATE_LIMITED.inc(questions)
        raise RateLimitedError(retry_after_seconds=ceil(wait / 1_000_000), questions_per_minute=limit)
