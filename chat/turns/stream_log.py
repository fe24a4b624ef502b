"""The events of one turn, written to a Redis stream.

Event n of a turn is the entry `0-n` of the stream `turn:{message}:events`, so that a reader resumes after any number,
in any process. The stream expires an hour after the turn; then `stream_reader` reads the stored message.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from redis.exceptions import RedisError

from chat.concurrency.fair_queue import current
from chat.concurrency.redis_client import client, events_key
from chat.turns.stream_hub import hub
from chat.types import Event, EventType

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 0.05  # words that come faster are joined: readers see 20 updates a second at most
INTERVAL_PER_STREAM = 0.002  # longer while many write here: with 100 streams 5 updates a second
LONGEST_INTERVAL_SECONDS = 0.25
REDIS_SECONDS = 10.0  # for a batch of events; then readers of this process get them alone
FINAL = ("done", "error")
FIRST_WORDS = ("chunk", "block", "tail")
EXPIRE_AFTER_END_SECONDS = 3600
EXPIRE_RUNNING_SECONDS = 6 * 3600  # in case the process dies


class TurnLog:
    """An `Emit` that appends to the stream of a turn, in order, without holding the writer up.

    Use as a context: leaving it writes what is left and lets the stream expire an hour later. Readers in this process
    get the events without Redis, so that they also get them where it has failed.
    """

    def __init__(self, message_id: uuid.UUID) -> None:
        self.key = events_key(message_id)
        self.sequence = 0  # of the last event written
        self._pending: list[tuple[EventType, dict[str, Any]]] = []
        self._wake = asyncio.Event()
        self._hurry = asyncio.Event()  # ends the pause between two batches
        self._is_closing = False
        self._has_words = False
        self._is_kept = True  # whether Redis has had every event so far; a stream with a gap is not continued
        self._writer: asyncio.Task[None] | None = None

    async def __aenter__(self) -> TurnLog:
        hub().adopt(self.key)
        self._writer = asyncio.create_task(self._write_all())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closing = True
        self._wake.set()
        self._hurry.set()
        assert self._writer is not None
        try:
            await self._writer
        finally:
            hub().abandon(self.key)

    async def __call__(self, kind: EventType, /, **data: Any) -> None:
        """Add an event. Texts that are not yet written are joined, a newer tail replaces an older one."""
        earlier = self._mergeable(kind)
        if earlier is None:
            self._pending.append((kind, data))
        elif kind in ("chunk", "thought"):
            earlier.update(data | {"content": earlier["content"] + data["content"]})
        else:
            earlier.update(data)
        if kind in FIRST_WORDS and not self._has_words:
            self._has_words = True
            self._hurry.set()
            if question := current.get():
                question.has_words = True
        self._wake.set()

    def _mergeable(self, kind: EventType) -> dict[str, Any] | None:
        if kind == "thought" and self._pending and self._pending[-1][0] == kind:
            return self._pending[-1][1]
        if kind not in ("chunk", "tail"):
            return None
        for other, data in reversed(self._pending):
            if other == kind:
                return data
            if other not in ("chunk", "tail"):
                return None
        return None

    async def _write_all(self) -> None:
        """Write batches until closed; a Redis that fails loses events, never the answer, which is stored elsewhere."""
        while self._pending or not self._is_closing:
            await self._wake.wait()
            self._wake.clear()
            batch, self._pending = self._pending, []
            events = [
                Event(sequence=self.sequence + n, type=kind, data=data) for n, (kind, data) in enumerate(batch, 1)
            ]
            self.sequence += len(events)
            if events and self._is_kept:
                await self._keep(events)
            hub().deliver(self.key, events)
            if not self._is_closing:
                await self._pause()

    async def _pause(self) -> None:
        seconds = INTERVAL_SECONDS + INTERVAL_PER_STREAM * hub().local_streams
        try:
            async with asyncio.timeout(min(seconds, LONGEST_INTERVAL_SECONDS)):
                await self._hurry.wait()
        except TimeoutError:
            return
        if not self._is_closing:
            self._hurry.clear()

    async def _keep(self, events: Sequence[Event]) -> None:
        """Append events to the stream in Redis."""
        try:
            pipe = client().pipeline(transaction=False)
            for event in events:
                pipe.xadd(self.key, _fields(event.type, event.data), id=f"0-{event.sequence}")
                if event.sequence == 1:
                    pipe.expire(self.key, EXPIRE_RUNNING_SECONDS)
                if event.type in FINAL:
                    pipe.expire(self.key, EXPIRE_AFTER_END_SECONDS)
            async with asyncio.timeout(REDIS_SECONDS):
                await pipe.execute()
        except (RedisError, TimeoutError, OSError):
            self._is_kept = False
            logger.exception("events of %s were lost for readers in other processes", self.key)


def _fields(kind: EventType, data: Mapping[str, Any]) -> dict[Any, Any]:
    return {"type": kind, "data": json.dumps(data, ensure_ascii=False)}
