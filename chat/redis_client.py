"""Connections to Redis for asynchronous code."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from django.conf import settings
from redis.asyncio import BlockingConnectionPool, Redis

MAX_CONNECTIONS = 64  # commands wait for a free one instead of failing
WAIT_SECONDS = 10

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Redis] = WeakKeyDictionary()


def client() -> Redis:
    """The client of the running event loop; answers are text."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        pool = BlockingConnectionPool.from_url(
            settings.REDIS_URL, max_connections=MAX_CONNECTIONS, timeout=WAIT_SECONDS, decode_responses=True
        )
        _clients[loop] = Redis(connection_pool=pool)
    return _clients[loop]


async def close() -> None:
    """Close the connections of the running event loop."""
    if found := _clients.pop(asyncio.get_running_loop(), None):
        await found.aclose()
        await found.connection_pool.disconnect()
