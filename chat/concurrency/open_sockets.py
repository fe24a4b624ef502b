"""How many WebSockets one person may have open, over all web processes.

An open socket is a member of a sorted set of its person in Redis, with the time when its lease ends; each process
renews the leases of its sockets, so those of a killed one are forgotten by themselves. Where Redis does not answer,
sockets are let in uncounted.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import defaultdict
from contextlib import suppress
from typing import Final

from django.conf import settings
from redis.exceptions import RedisError

from chat import metrics
from chat.concurrency.loop_local import LoopLocal
from chat.concurrency.redis_client import client
from chat.concurrency.task_end import is_cancelled, task_end
from ragcore.errors import TransientError

logger = logging.getLogger(__name__)

LEASE_SECONDS = 90
RENEW_SECONDS = 30
REDIS_SECONDS = 1.0

_TAKE: Final = """
local now = redis.call('TIME')
local at = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', at)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], at + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
"""
_RENEW: Final = """
local now = redis.call('TIME')
local at = now[1] * 1000 + math.floor(now[2] / 1000)
for number = 2, #ARGV do redis.call('ZADD', KEYS[1], at + ARGV[1], ARGV[number]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return #ARGV - 1
"""


class TooManySocketsError(TransientError):
    """This person has as many connections open as they may."""

    code = "too_many_sockets"
    default_message = "Too many pages are open under your name. Close some of them and load this one again."


class OpenSockets:
    """The sockets of this process. Belongs to one event loop."""

    def __init__(self) -> None:
        self._held: dict[int, set[str]] = defaultdict(set)
        self._renewing: asyncio.Task[None] | None = None

    async def enter(self, person: int) -> str:
        """Count a socket; the token with which it leaves. Raises TooManySocketsError."""
        token = uuid.uuid4().hex
        limit = settings.SOCKETS_PER_PERSON
        if limit and not await self._is_granted(person, token, limit):
            metrics.SOCKETS_REFUSED.inc()
            raise TooManySocketsError(limit=limit)
        self._held[person].add(token)
        metrics.SOCKETS.inc()
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew(), name="open sockets")
        return token

    async def leave(self, person: int, token: str) -> None:
        """Forget a socket. Redis that cannot be told forgets it with its lease."""
        if token not in self._held.get(person, ()):
            return
        self._held[person].discard(token)
        if not self._held[person]:
            del self._held[person]
        metrics.SOCKETS.dec()
        with suppress(RedisError, TimeoutError, OSError):
            async with asyncio.timeout(REDIS_SECONDS):
                await client().zrem(_key(person), token)

    async def close(self) -> None:
        """Stop renewing, at the end of the event loop."""
        if self._renewing is not None:
            await task_end(self._renewing)

    async def _is_granted(self, person: int, token: str, limit: int) -> bool:
        try:
            async with asyncio.timeout(REDIS_SECONDS):
                take = client().register_script(_TAKE)
                return bool(await take(keys=[_key(person)], args=[token, limit, LEASE_SECONDS * 1000]))
        except (RedisError, TimeoutError, OSError) as error:
            logger.warning("a socket of user %s is not counted: %s", person, error)
            return True

    async def _renew(self) -> None:
        """While any is open. Brings those back, too, that a restarted Redis does not know."""
        while self._held and not is_cancelled():
            await asyncio.sleep(RENEW_SECONDS)
            for person in list(self._held):
                try:
                    async with asyncio.timeout(REDIS_SECONDS):
                        await self._renew_person(person)
                except (RedisError, TimeoutError, OSError) as error:
                    logger.warning("open sockets are not renewed: %s", error)
                    break

    async def _renew_person(self, person: int) -> None:
        """Extend the leases of a person's sockets."""
        tokens = set(self._held.get(person, ()))
        if not tokens:
            return
        renew = client().register_script(_RENEW)
        await renew(keys=[_key(person)], args=[LEASE_SECONDS * 1000, *tokens])
        # A socket that left meanwhile may have told Redis so before the renewal came there and brought it back.
        if closed := tokens - self._held.get(person, set()):
            await client().zrem(_key(person), *closed)


def _key(person: int) -> str:
    return f"sockets:{person}"


_of_loops = LoopLocal(OpenSockets)


def open_sockets() -> OpenSockets:
    """Those of the running event loop."""
    return _of_loops.get()


async def close_open_sockets() -> None:
    """Stop the task of the running event loop."""
    if sockets := _of_loops.pop():
        await sockets.close()
