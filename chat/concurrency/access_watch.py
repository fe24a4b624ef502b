"""Closes sockets and streams within a second after their session, key or person has lost access.

One subscription a process, however many connections there are. When it was broken, every connection is checked anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from django.db import DatabaseError
from django.utils import timezone
from redis.exceptions import RedisError

from accounts.access_events import CHANNEL, Access, access_ended_parse
from accounts.sign_in.sessions import access_end
from chat.concurrency.executors import run_db
from chat.concurrency.loop_local import LoopLocal
from chat.concurrency.redis_client import client
from chat.embeds.sessions import session_access_end

logger = logging.getLogger(__name__)

T = TypeVar("T")

POLL_SECONDS = 1.0
RETRY_SECONDS = 1.0


@dataclass(eq=False)
class Watched:
    """One connection; `ended` is set when it has to close."""

    access: Access
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _is_over: bool = False
    _waiting: asyncio.Timeout | None = None  # for the next part of a stream
    _timer: asyncio.TimerHandle | None = None
    _checking: asyncio.Task[None] | None = None  # the check that a timer began

    async def check(self) -> None:
        """Ends the connection if its access is over, else schedules the next check at the expiry of session or key."""
        try:
            end = await run_db(_access_end, self.access)
        except DatabaseError as error:
            logger.warning("whether an access still holds cannot be checked: %s", error)
            return
        seconds = None if end is None else (end - timezone.now()).total_seconds()
        if seconds is not None and seconds <= 0:
            self.end()
        elif seconds is not None and not self._is_over:
            self._stop_timer()
            self._timer = asyncio.get_running_loop().call_later(seconds, self._begin_check)

    def end(self) -> None:
        """Marks the connection as ended, which wakes everything that waits for it."""
        if self.ended.is_set():
            return
        self.ended.set()
        if self._waiting is not None:
            self._waiting.reschedule(asyncio.get_running_loop().time())

    async def next_of(self, parts: AsyncIterator[T]) -> T:
        """The next part of a stream. Raises StopAsyncIteration at its end, TimeoutError where the access ends."""
        try:
            async with asyncio.timeout(None) as self._waiting:
                return await anext(parts)
        finally:
            self._waiting = None

    def close(self) -> None:
        """The connection is gone: nothing is checked any more."""
        self._is_over = True
        self._stop_timer()

    def _begin_check(self) -> None:
        self._checking = asyncio.create_task(self.check())

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _access_end(access: Access) -> datetime | None:
    """Until when it holds, whichever way it was given."""
    return session_access_end(access) if access.embed else access_end(access)


class AccessWatch:
    """All connections of one event loop."""

    def __init__(self) -> None:
        self._watched: set[Watched] = set()
        self._task: asyncio.Task[None] | None = None
        self.subscribed = asyncio.Event()

    @contextmanager
    def watch(self, access: Access) -> Iterator[Watched]:
        """For as long as a connection is open."""
        watched = Watched(access)
        self._watched.add(watched)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        try:
            yield watched
        finally:
            self._watched.discard(watched)
            watched.close()

    async def _run(self) -> None:
        while self._watched:
            try:
                await self._listen()
            except (RedisError, OSError) as error:
                logger.warning("no news about ended accesses: %s", error)
                await asyncio.sleep(RETRY_SECONDS)
            finally:
                self.subscribed.clear()

    async def _listen(self) -> None:
        async with client().pubsub(ignore_subscribe_messages=True) as channel:
            await channel.subscribe(CHANNEL)
            await channel.get_message(timeout=POLL_SECONDS)  # Redis confirms
            self.subscribed.set()
            await asyncio.gather(*(watched.check() for watched in list(self._watched)))
            while self._watched:
                message: Any = await channel.get_message(timeout=POLL_SECONDS)
                if message is not None:
                    self._end(message["data"])

    def _end(self, text: str) -> None:
        ended = access_ended_parse(text)
        for watched in self._watched:
            if ended.concerns(watched.access):
                watched.end()


_of_loops = LoopLocal(AccessWatch)


def access_watch() -> AccessWatch:
    """The access watch of the running event loop."""
    return _of_loops.get()


async def run_until_ended(work: Coroutine[Any, Any, None], access: Access) -> bool:
    """Run it for as long as the access holds, then cancel it. Returns whether it came to its own end."""
    with access_watch().watch(access) as watched:
        working = asyncio.ensure_future(work)
        over = asyncio.ensure_future(watched.ended.wait())
        try:
            await watched.check()
            await asyncio.wait({working, over}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
                return True
            return False
        finally:
            over.cancel()
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working


async def until_ended(parts: AsyncIterator[T], access: Access) -> AsyncIterator[T]:
    """The parts of a stream for as long as the access holds."""
    with access_watch().watch(access) as watched:
        await watched.check()
        try:
            while not watched.ended.is_set():
                try:
                    part = await watched.next_of(parts)
                except StopAsyncIteration:
                    return
                except TimeoutError:
                    if watched.ended.is_set():
                        return
                    raise
                yield part
        finally:
            if (close := getattr(parts, "aclose", None)) is not None:
                await close()
