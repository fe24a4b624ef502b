"""Admission of questions: places for answers in progress, shared by all web processes (decision 019).

A place is a member `person:tenant:key:token` of a sorted set in Redis with the time when its lease ends; each process
renews the leases of its places, so those of a killed one become free by themselves. Where Redis does not answer, each
process gives out its part of the places itself, without limits of persons, tenants and keys.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from math import ceil
from types import TracebackType
from typing import Final

from django.conf import settings
from redis.exceptions import RedisError

from accounts.errors import RateLimitedError
from accounts.models import User
from chat import metrics
from chat.concurrency.fair_queue import Question, current
from chat.concurrency.loop_local import LoopLocal
from chat.concurrency.redis_client import client
from chat.concurrency.task_end import is_cancelled, task_end
from chat.errors import BusyError

logger = logging.getLogger(__name__)

KEY = "answers:places"
LEASE_SECONDS = 20
RENEW_SECONDS = 5
RETRY_AFTER_SECONDS = 2
REDIS_SECONDS = 1.0  # then this process decides by itself
REST_SECONDS = 2.0  # for which a Redis that did not answer is not asked again
EXTRA_SHARE = 4  # one place in so many is kept for people who have few, when all others are taken

# 1: the person has a place now. When all are taken, one of the extra places goes to a person whose places would still
# be no more than an equal share of all; who is alone cannot get one, and nobody can when each has a place already.
# Below 0: person, tenant or key has as many places as its own limit allows.
_TAKE: Final = """
local now = redis.call('TIME')
local at = now[1] * 1000 + math.floor(now[2] / 1000)
local person, limit, most = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', at)
if ARGV[6] .. ARGV[7] .. ARGV[8] ~= '000' then
  local holders, held = {string.match(ARGV[2], '^([^:]*):([^:]*):([^:]*):')}, {0, 0, 0}
  for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    for part, holder in ipairs({string.match(member, '^([^:]*):([^:]*):([^:]*):')}) do
      if holder ~= '' and holder == holders[part] then held[part] = held[part] + 1 end
    end
  end
  for part = 1, 3 do
    local own = tonumber(ARGV[5 + part])
    if own > 0 and held[part] >= own then return -part end
  end
end
local taken = redis.call('ZCARD', KEYS[1])
if taken >= limit then
  if taken >= most then return 0 end
  local places, people = {[person] = 0}, 1
  for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    local other = string.match(member, '^[^:]+')
    if not places[other] then places[other] = 0; people = people + 1 end
    places[other] = places[other] + 1
  end
  if (places[person] + 1) * people > limit then return 0 end
end
redis.call('ZADD', KEYS[1], at + ARGV[5], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 1
"""
_RENEW: Final = """
local now = redis.call('TIME')
local at = now[1] * 1000 + math.floor(now[2] / 1000)
for number = 2, #ARGV do redis.call('ZADD', KEYS[1], at + ARGV[1], ARGV[number]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return #ARGV - 1
"""


class Place:
    """One of the places for running questions; free again at the end of its context, or by `release`.

    Inside its context, and in that of `steps`, threads are used on behalf of the person who asked.
    """

    def __init__(self, places: Places, person: int, member: str) -> None:
        self._places = places
        self._member = member
        self._question = Question(person)
        self._stack = ExitStack()

    @contextmanager
    def steps(self) -> Iterator[None]:
        """Steps of the running task count as those of the question."""
        token = current.set(self._question)
        try:
            yield
        finally:
            current.reset(token)

    async def __aenter__(self) -> Place:
        self._stack.enter_context(self.steps())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        await asyncio.shield(self.release())

    async def release(self) -> None:
        """Harmless when it was given back already."""
        await self._places.give_back(self._member)


async def take_place(user: User, *, key: str = "") -> Place:
    """A place for a question of this person, asked with the key of this tag. With Redis one round trip.

    Raises BusyError while all are taken: a question is refused at the door, it does not wait unseen. Raises
    RateLimitedError where person, tenant or key has as many as MAX_IN_FLIGHT_PER_… allows (0: no limit).
    """
    return await _places().take(user.pk, tenant=user.tenant_id, key=key)


def _own_limits() -> tuple[int, int, int]:
    """Of a person, a tenant and a key; in this order they stand in a member."""
    return settings.MAX_IN_FLIGHT_PER_PERSON, settings.MAX_IN_FLIGHT_PER_TENANT, settings.MAX_IN_FLIGHT_PER_KEY


class Places:
    """The places that this process has given out. Belongs to one event loop."""

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._renewing: asyncio.Task[None] | None = None
        self._rests_until = 0.0

    async def take(self, person: int, *, tenant: int = 0, key: str = "") -> Place:
        """See `take_place`."""
        member = f"{person}:{tenant}:{key}:{uuid.uuid4().hex}"
        granted = await self._grant(person, member)
        if granted < 0:
            limit = _own_limits()[-granted - 1]
            raise RateLimitedError("at_once", limit=limit, retry_after_seconds=RETRY_AFTER_SECONDS)
        if not granted:
            raise BusyError(retry_after_seconds=RETRY_AFTER_SECONDS)
        self._held.add(member)
        metrics.IN_FLIGHT.set(len(self._held))
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew(), name="places")
        return Place(self, person, member)

    async def give_back(self, member: str) -> None:
        """Releases a place; where Redis is unavailable it ends with its lease."""
        if member not in self._held:
            return
        self._held.discard(member)
        metrics.IN_FLIGHT.set(len(self._held))
        if time.monotonic() >= self._rests_until:
            try:
                async with asyncio.timeout(REDIS_SECONDS):
                    await client().zrem(KEY, member)
            except (RedisError, TimeoutError, OSError) as error:
                self._rest(error)

    async def close(self) -> None:
        """Stop renewing, at the end of the event loop."""
        if self._renewing is not None:
            await task_end(self._renewing)

    async def _grant(self, person: int, member: str) -> int:
        """1: granted. 0: all are taken. Below 0: the number of the own limit that is reached."""
        limit, lease = settings.MAX_IN_FLIGHT, int(LEASE_SECONDS * 1000)
        if time.monotonic() < self._rests_until:
            return self._has_own_place(person, limit)
        try:
            async with asyncio.timeout(REDIS_SECONDS):
                take = client().register_script(_TAKE)
                arguments: list[str | int] = [person, member, limit, limit + limit // EXTRA_SHARE, lease]
                return int(await take(keys=[KEY], args=[*arguments, *_own_limits()]))
        except (RedisError, TimeoutError, OSError) as error:
            self._rest(error)
            return self._has_own_place(person, limit)

    def _has_own_place(self, person: int, limit: int) -> bool:
        """The same rule for this process's part of the places."""
        part = ceil(limit / settings.WEB_PROCESSES)
        if len(self._held) < part:
            return True
        if len(self._held) >= part + part // EXTRA_SHARE:
            return False
        people = [member.partition(":")[0] for member in self._held]
        return (people.count(str(person)) + 1) * len({*people, str(person)}) <= part

    def _rest(self, error: Exception) -> None:
        self._rests_until = time.monotonic() + REST_SECONDS
        logger.warning("places are given out by this process alone: %s", error)

    async def _renew(self) -> None:
        """While any place is held. Also brings places back that a restarted Redis does not know."""
        while self._held and not is_cancelled():
            await asyncio.sleep(RENEW_SECONDS)
            members = list(self._held)
            if not members:
                return
            try:
                async with asyncio.timeout(REDIS_SECONDS):
                    await client().register_script(_RENEW)(keys=[KEY], args=[int(LEASE_SECONDS * 1000), *members])
                    if ended := [member for member in members if member not in self._held]:
                        await client().zrem(KEY, *ended)
            except (RedisError, TimeoutError, OSError) as error:
                self._rest(error)


_of_loops = LoopLocal(Places)


def _places() -> Places:
    return _of_loops.get()


async def close_places() -> None:
    """Stop the task of the running event loop."""
    if places := _of_loops.pop():
        await places.close()
