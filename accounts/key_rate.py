"""How many requests one API key may make in a minute."""

from __future__ import annotations

import logging
from functools import cache
from math import ceil
from typing import Any

import redis
from django.conf import settings

from accounts.errors import RateLimitedError
from accounts.models import ApiKey
from accounts.sliding_window import COUNT_OR_WAIT, WINDOW_SECONDS

logger = logging.getLogger(__name__)

REDIS_SECONDS = 1.0  # then the request passes uncounted


def count_request_or_raise(key: ApiKey) -> None:
    """Count one request of a key that has a limit; what is refused is not counted. One round trip to Redis.

    Raises RateLimitedError with the seconds after which a request has a place.
    """
    if key.requests_per_minute is None:
        return
    try:
        arguments = [WINDOW_SECONDS * 1_000_000, 1, key.requests_per_minute]
        wait = int(_script(settings.REDIS_URL)(keys=[f"key-rate:{key.pk}"], args=arguments)[0])
    except (redis.RedisError, OSError) as error:
        logger.warning("a request of key %s is not counted: %s", key.prefix, error)
        return
    if wait > 0:
        raise RateLimitedError(retry_after_seconds=ceil(wait / 1_000_000), requests_per_minute=key.requests_per_minute)


@cache
def _script(url: str) -> Any:
    """The script with a connection pool of this process."""
    limits = {"socket_timeout": REDIS_SECONDS, "socket_connect_timeout": REDIS_SECONDS}
    return redis.Redis.from_url(url, **limits).register_script(COUNT_OR_WAIT)
