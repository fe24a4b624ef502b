"""Heartbeats of this process's running turns and their stop requests, in one round trip to Redis for all."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from redis.exceptions import RedisError

from chat.concurrency.admission import REDIS_SECONDS
from chat.concurrency.loop_local import LoopLocal
from chat.concurrency.redis_client import alive_key, client, stop_key

logger = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 1  # also how soon a stop from another process is noticed
ALIVE_SECONDS = 15  # without a heartbeat a turn counts as dead


class Heartbeats:
    """Of the turns of one event loop."""

    def __init__(self) -> None:
        self._turns: dict[uuid.UUID, asyncio.Event] = {}
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def of(self, message_id: uuid.UUID, stop: asyncio.Event) -> AsyncIterator[None]:
        """Show that the turn is being worked on, and set `stop` when another process wants it to end."""
        self._turns[message_id] = stop
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            del self._turns[message_id]
            if not self._turns:
                self._task.cancel()
            with suppress(RedisError, TimeoutError):  # both keys expire by themselves
                async with asyncio.timeout(REDIS_SECONDS):
                    await client().delete(alive_key(message_id), stop_key(message_id))

    async def _beat(self) -> None:
        while True:
            turns = list(self._turns.items())
            pipe = client().pipeline(transaction=False)
            for message_id, _ in turns:
                pipe.set(alive_key(message_id), "1", ex=ALIVE_SECONDS)
                pipe.exists(stop_key(message_id))
            try:
                answers = await pipe.execute()
                for (_, stop), is_to_stop in zip(turns, answers[1::2], strict=True):
                    if is_to_stop:
                        stop.set()
                if ended := [alive_key(message_id) for message_id, _ in turns if message_id not in self._turns]:
                    await client().delete(*ended)  # they have ended meanwhile, and may be shown as alive again
            except RedisError as error:
                logger.warning("no heartbeat for %d turns: %s", len(turns), error)
            await asyncio.sleep(HEARTBEAT_SECONDS)


async def show_alive(message_id: uuid.UUID) -> None:
    """Readers in other processes may follow the turn from now on; without Redis only those in this one can."""
    try:
        async with asyncio.timeout(REDIS_SECONDS):
            await client().set(alive_key(message_id), "1", ex=ALIVE_SECONDS)
    except (RedisError, TimeoutError) as error:
        logger.warning("turn %s can be followed in this process only: %s", message_id, error)


_of_loops = LoopLocal(Heartbeats)


def heartbeats() -> Heartbeats:
    """Those of the running event loop."""
    return _of_loops.get()
