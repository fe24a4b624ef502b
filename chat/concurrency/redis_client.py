"""Connections to Redis for asynchronous code, locks in it, and the keys of a turn."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from django.conf import settings
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.lock import Lock
from redis.exceptions import LockError, RedisError
from redis.maint_notifications import MaintNotificationsConfig

from chat.concurrency.loop_local import LoopLocal

logger = logging.getLogger(__name__)

MAX_CONNECTIONS = 64  # commands wait for a free one instead of failing
WAIT_SECONDS = 10
SOCKET_SECONDS = 5.0  # for each answer of the server, also to a command that waits for something

LOCK_EXPIRE_SECONDS = 15  # a process that has died gives its locks up soon
LOCK_RENEW_SECONDS = 5  # a living one keeps them as long as it works


def _connect() -> Redis:
    pool = BlockingConnectionPool.from_url(
        settings.REDIS_URL,
        max_connections=MAX_CONNECTIONS,
        timeout=WAIT_SECONDS,
        socket_timeout=SOCKET_SECONDS,
        decode_responses=True,
        maint_notifications_config=MaintNotificationsConfig(enabled=False),  # of clusters; asked of each connection
    )
    return Redis(connection_pool=pool)


_clients = LoopLocal(_connect)


def client() -> Redis:
    """The client of the running event loop; answers are text."""
    return _clients.get()


def socket_seconds() -> float | None:
    """How long the client of the running event loop waits for an answer; None: for ever. The URL may say it, too."""
    limit: float | None = client().connection_pool.connection_kwargs.get("socket_timeout")
    return limit or None


async def close() -> None:
    """Close the connections of the running event loop."""
    if connection := _clients.pop():
        await connection.aclose()
        await connection.connection_pool.disconnect()


@asynccontextmanager
async def redis_lock(name: str, *, wait_seconds: float) -> AsyncIterator[bool]:
    """True while this process holds the lock; False if it could not be had in time.

    Acquired, renewed and released by compare-and-set in Lua scripts: only the holder's token counts.
    """
    lock = client().lock(name, timeout=LOCK_EXPIRE_SECONDS, blocking=wait_seconds > 0, blocking_timeout=wait_seconds)
    if not await lock.acquire():
        yield False
        return
    renewing = asyncio.create_task(_renew(lock))
    try:
        yield True
    finally:
        renewing.cancel()
        await asyncio.shield(_release(lock))


async def _renew(lock: Lock) -> None:
    while True:
        await asyncio.sleep(LOCK_RENEW_SECONDS)
        try:
            await lock.reacquire()
        except LockError:
            logger.warning("the lock %s was lost", lock.name)
            return
        except RedisError as error:  # there are two more tries before it expires
            logger.warning("the lock %s could not be renewed: %s", lock.name, error)


async def _release(lock: Lock) -> None:
    try:
        await lock.release()
    except LockError:  # it had expired, e.g. after a long pause of the machine; nothing is left to release
        return
    except RedisError as error:  # what was done under the lock is done, and the lock expires by itself
        logger.warning("the lock %s could not be released: %s", lock.name, error)


# ── keys of a turn ──────────────────────────────────────────────────────────────────────────────


def events_key(message_id: uuid.UUID | str) -> str:
    """The stream of the events of a turn."""
    return f"turn:{message_id}:events"


def alive_key(message_id: uuid.UUID | str) -> str:
    """Exists while a process works on the turn."""
    return f"turn:{message_id}:alive"


def stop_key(message_id: uuid.UUID | str) -> str:
    """Set by whoever wants the turn to stop, in any process."""
    return f"turn:{message_id}:stop"
