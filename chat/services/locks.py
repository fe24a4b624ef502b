"""Locks in Redis that a dead process gives up soon and a living one keeps as long as it works."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio.lock import Lock
from redis.exceptions import LockError, RedisError

from chat.redis_client import client

logger = logging.getLogger(__name__)

EXPIRE_SECONDS = 15
RENEW_SECONDS = 5


@asynccontextmanager
async def redis_lock(name: str, *, wait_seconds: float) -> AsyncIterator[bool]:
    """True while this process holds the lock; False if it could not be had in time.

    Acquired, renewed and released by compare-and-set in Lua scripts: only the holder's token counts.
    """
    lock = client().lock(name, timeout=EXPIRE_SECONDS, blocking=wait_seconds > 0, blocking_timeout=wait_seconds)
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
        await asyncio.sleep(RENEW_SECONDS)
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
