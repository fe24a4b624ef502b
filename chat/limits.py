"""How many questions a person, a key and a tenant may ask in a minute (V13)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from math import ceil
from typing import ClassVar, Final

from django.conf import settings
from redis.exceptions import RedisError

from accounts.models import User
from chat import metrics
from chat.errors import InvalidAnswerRequestError
from chat.redis_client import client
from ragcore.errors import Sentence, TransientError

logger = logging.getLogger(__name__)

WINDOW_SECONDS = 60
REDIS_SECONDS = 1.0  # then the question is answered uncounted

# The questions of the last minute, each with its time in microseconds, by the clock of Redis: every web process counts
# in the same ones. Each key has its limit, from the third argument on. Answers the microseconds after which so many
# questions have a place under all limits, and the number of the limit; 0: they have, and are counted under each.
_COUNT: Final = """
local now = redis.call('TIME')
local at = now[1] * 1000000 + now[2]
local window, asked = tonumber(ARGV[1]), tonumber(ARGV[2])
local wait, which = 0, 0
for number, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, '-inf', at - window)
  local over = redis.call('ZCARD', key) + asked - tonumber(ARGV[number + 2])
  if over > 0 then
    local last = redis.call('ZRANGE', key, over - 1, over - 1, 'WITHSCORES')
    if last[2] + window - at > wait then wait, which = last[2] + window - at, number end
  end
end
if wait > 0 then return {wait, which} end
for _, key in ipairs(KEYS) do
  for number = 1, asked do redis.call('ZADD', key, at, string.format('%.0f-%d', at, number)) end
  redis.call('PEXPIRE', key, math.ceil(window / 1000))
end
return {0, 0}
"""


class RateLimitedError(TransientError):
    """This person, key or tenant has asked as many questions in the last minute, or asks as many now, as it may."""

    code = "rate_limited"
    default_message = "Too many requests."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "at_once": "Your limit of %(limit)s questions at a time is reached. Please try again shortly.",
    }


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
            count = client().register_script(_COUNT)
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
