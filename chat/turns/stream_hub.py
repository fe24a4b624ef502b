"""Delivers events of turns to their readers: one queue a reader, one Redis connection for all.

Turns of this process hand their events over directly. For those of other processes there is one blocking XREAD.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from redis.exceptions import RedisError

from chat.concurrency.loop_local import LoopLocal
from chat.concurrency.redis_client import client, socket_seconds
from chat.concurrency.task_end import is_cancelled, task_end
from chat.types import Event

logger = logging.getLogger(__name__)

BLOCK_MILLISECONDS = 5000  # at most
BLOCK_SHARE = 0.6  # of the time after which a connection counts as lost: a quiet stream is no lost connection
RETRY_SECONDS = 0.5
WAKE_EXPIRE_SECONDS = 3600

Queue = asyncio.Queue[Event]


@dataclass
class Followed:
    """A stream, up to where it was read, and who listens."""

    sequence: int
    queues: set[Queue] = field(default_factory=set)


@dataclass
class LocalStream:
    """A stream that a turn of this process writes: all its events so far, and who listens."""

    events: list[Event] = field(default_factory=list)
    queues: set[Queue] = field(default_factory=set)


class Hub:
    """Delivers the entries of followed streams to queues. Belongs to one event loop."""

    def __init__(self) -> None:
        self._streams: dict[str, Followed] = {}  # written by other processes
        self._local: dict[str, LocalStream] = {}  # written by this one
        self._wake_key = f"reader:{uuid.uuid4()}:wake"
        self._wake_id = "0-0"
        self._task: asyncio.Task[None] | None = None

    async def follow(self, key: str, *, after: int) -> Queue:
        """A queue that gets what is appended from now on, and perhaps some events before; for the rest read the stream.

        `after`: where to begin if nobody follows this stream yet. A stream of this process comes from its beginning.
        """
        queue: Queue = asyncio.Queue()
        if local := self._local.get(key):
            for event in local.events:
                queue.put_nowait(event)
            local.queues.add(queue)
            return queue
        self._streams.setdefault(key, Followed(after)).queues.add(queue)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        else:
            try:
                await self._wake()
            except RedisError:
                self.leave(key, queue)
                raise
        return queue

    def leave(self, key: str, queue: Queue) -> None:
        """Stop filling a queue; the last one of a stream takes the stream with it."""
        if local := self._local.get(key):
            local.queues.discard(queue)
        if followed := self._streams.get(key):
            followed.queues.discard(queue)
            if not followed.queues:
                del self._streams[key]

    # ── turns of this process ───────────────────────────────────────────────────────────────────

    @property
    def local_streams(self) -> int:
        """How many turns of this process write at the moment."""
        return len(self._local)

    def adopt(self, key: str) -> None:
        """From now on this process writes the stream, and `deliver` is told of every event."""
        self._local.setdefault(key, LocalStream())

    def is_local(self, key: str) -> bool:
        return key in self._local

    def deliver(self, key: str, events: Sequence[Event]) -> None:
        """Hand events over, in their order."""
        if local := self._local.get(key):
            local.events.extend(events)
            for queue in local.queues:
                for event in events:
                    queue.put_nowait(event)

    def abandon(self, key: str) -> None:
        """The stream has ended; who comes later reads it from Redis or the stored message."""
        self._local.pop(key, None)

    # ── turns of other processes ────────────────────────────────────────────────────────────────

    async def close(self) -> None:
        """Stop reading; who still listens hears nothing any more."""
        self._streams.clear()
        if self._task is not None and not self._task.done():
            with suppress(RedisError):  # the client of Redis does not let a command be cancelled that waits
                await self._wake()
            await task_end(self._task)

    async def _wake(self) -> None:
        """Make the running XREAD return, so that it is repeated with the new stream."""
        pipe = client().pipeline(transaction=False)
        pipe.xadd(self._wake_key, {"wake": "1"}, maxlen=1, approximate=False)
        pipe.expire(self._wake_key, WAKE_EXPIRE_SECONDS)
        await pipe.execute()

    async def _run(self) -> None:
        """Read while anyone follows anything."""
        while self._streams and not is_cancelled():
            try:
                await self._read()
            except RedisError:
                logger.exception("reading events failed; trying again")
                await asyncio.sleep(RETRY_SECONDS)

    async def _read(self) -> None:
        positions: dict[Any, Any] = {key: f"0-{followed.sequence}" for key, followed in self._streams.items()}
        positions[self._wake_key] = self._wake_id
        answer: Any = await client().xread(positions, block=block_milliseconds())
        for key, entries in answer or ():
            if key == self._wake_key:
                self._wake_id = entries[-1][0]
            elif followed := self._streams.get(key):
                for entry_id, fields in entries:
                    event = decode(entry_id, fields)
                    followed.sequence = max(followed.sequence, event.sequence)
                    for queue in followed.queues:
                        queue.put_nowait(event)


def block_milliseconds() -> int:
    """How long Redis may keep a read waiting where nothing happens; never 0, which would be for ever."""
    limit = socket_seconds()
    return BLOCK_MILLISECONDS if limit is None else max(1, min(BLOCK_MILLISECONDS, int(limit * 1000 * BLOCK_SHARE)))


def decode(entry_id: str, fields: Mapping[str, str]) -> Event:
    """An entry of a stream as an event."""
    return Event(
        sequence=int(entry_id.partition("-")[2]),
        type=fields["type"],  # type: ignore[arg-type]  # written by TurnLog
        data=json.loads(fields["data"]),
    )


_hubs = LoopLocal(Hub)


def hub() -> Hub:
    """The hub of the running event loop."""
    return _hubs.get()


async def close_hub() -> None:
    """Stop the hub of the running event loop."""
    if current_hub := _hubs.pop():
        await current_hub.close()
