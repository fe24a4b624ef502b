"""The events of one turn, written to a Redis stream (B5, D32).

Event n of a turn is the entry `0-n` of the stream `turn:{message}:events`, so that a reader resumes after any number,
in any process. The stream expires an hour after the turn; then `stream_reader` reads the stored message.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from redis.exceptions import RedisError

from chat.redis_client import client, events_key
from chat.types import EventType

logger = logging.getLogger(__name__)

INTERVAL_SECONDS = 0.05  # words that come faster are joined: readers see 20 updates a second at most
FINAL = ("done", "error")
EXPIRE_AFTER_END_SECONDS = 3600
EXPIRE_RUNNING_SECONDS = 6 * 3600  # in case the process dies
ALIVE_SECONDS = 15


class TurnLog:
    """An `Emit` that appends to the stream of a turn, in order, without holding the writer up.

    Use as a context: leaving it writes what is left and lets the stream expire an hour later.
    """

    def __init__(self, message_id: uuid.UUID) -> None:
        self.key = events_key(message_id)
        self.sequence = 0  # of the last event written
        self._pending: list[tuple[EventType, dict[str, Any]]] = []
        self._wake = asyncio.Event()
        self._closing = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None

    async def __aenter__(self) -> TurnLog:
        self._writer = asyncio.create_task(self._write_all())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._wake.set()
        assert self._writer is not None
        await self._writer

    async def __call__(self, kind: EventType, /, **data: Any) -> None:
        """Add an event. Texts that are not yet written are joined, a newer tail replaces an older one."""
        earlier = self._mergeable(kind)
        if earlier is None:
            self._pending.append((kind, data))
        elif kind == "chunk":
            earlier["content"] += data["content"]
        else:
            earlier.update(data)
        self._wake.set()

    def _mergeable(self, kind: EventType) -> dict[str, Any] | None:
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
        while self._pending or not self._closing.is_set():
            await self._wake.wait()
            self._wake.clear()
            batch, self._pending = self._pending, []
            try:
                await self._write(batch)
            except RedisError:
                logger.exception("events of %s were lost", self.key)
            if not self._closing.is_set():
                await self._pause()

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(INTERVAL_SECONDS):
                await self._closing.wait()
        except TimeoutError:
            return

    async def _write(self, batch: list[tuple[EventType, dict[str, Any]]]) -> None:
        pipe = client().pipeline(transaction=False)
        for kind, data in batch:
            self.sequence += 1
            pipe.xadd(self.key, _fields(kind, data), id=f"0-{self.sequence}")
            if self.sequence == 1:
                pipe.expire(self.key, EXPIRE_RUNNING_SECONDS)
            if kind in FINAL:
                pipe.expire(self.key, EXPIRE_AFTER_END_SECONDS)
        if batch:
            await pipe.execute()


def _fields(kind: EventType, data: Mapping[str, Any]) -> dict[Any, Any]:
    return {"type": kind, "data": json.dumps(data, ensure_ascii=False)}
