"""The connection to Redis of synchronous code in this app."""

from __future__ import annotations

from functools import cache

import redis
from django.conf import settings

SOCKET_SECONDS = 2.0


@cache
def connection() -> redis.Redis:
    """One pool of connections a process."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=SOCKET_SECONDS,
        socket_connect_timeout=SOCKET_SECONDS,
        decode_responses=True,
    )
