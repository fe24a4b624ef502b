"""Connections to Redis for asynchronous code."""

from __future__ import annotations

import asyncio
from weakref import WeakKeyDictionary

from django.conf import settings
from redis.asyncio import BlockingConnectionPool, Redis

MAX_CONNECTIONS = 64  # commands wait for a free one instead of failing
WAIT_SECONDS = 10
SOCKET_SECONDS = 5.0  # for each answer of the server, also to a command that waits for something

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Redis] = WeakKeyDictionary()


def client() -> Redis:
    """The client of the running event loop; answers are text."""
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        pool = BlockingConnectionPool.from_url(
            settings.REDIS_URL,
            max_connections=MAX_CONNECTIONS,
            timeout=WAIT_SECONDS,
            socket_timeout=SOCKET_SECONDS,
            decode_responses=True,
        )
        _clients[loop] = Redis(connection_pool=pool)
    return _clients[loop]


def socket_seconds() -> float | None:
    """How long the client of the running event loop waits for an answer; None: for ever. The URL may say it, too."""
    limit: float | None = client().connection_pool.connection_kwargs.get("socket_timeout")
    return limit or None


async def close() -> None:
    """Close the connections of the running event loop."""
    if found := _clients.pop(asyncio.get_running_loop(), None):
        await found.aclose()
        await found.connection_pool.disconnect()
