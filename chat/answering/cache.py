"""The answer cache: the same question under the same rights is answered once, also by several at once.

Of equal questions at the same time one is computed: in a process the others wait for its task, over processes for a
lock in Redis with a lease, which ends soon after its process has died. Without Redis each process computes by itself.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

from django.utils import timezone
from redis.exceptions import RedisError

from chat.answering.grounding import UNCHECKED
from chat.answering.metadata import SILENT_MODELS
from chat.concurrency.redis_client import client, redis_lock
from chat.types import AnswerRecord

logger = logging.getLogger(__name__)

TTL_SECONDS = 24 * 3600
POLL_SECONDS = (0.02, 0.05, 0.1)  # the last one is repeated
WAIT_SECONDS = 30.0  # for the answer of another request; then each computes its own
UNSHARED = "unshared"  # the first answer is not for others: each request computes its own
UNSHARED_SECONDS = 2
CACHED_STATUSES = frozenset({"answered", "refused", "search_results"})

IsUsable = Callable[[AnswerRecord], Awaitable[bool]]
Compute = Callable[[], Awaitable[AnswerRecord]]
MayKeep = Callable[[AnswerRecord], bool]

_flights: dict[tuple[int, str], _Flight] = {}  # by event loop and key


@dataclass(slots=True)
class _Flight:
    """One computation of this process. `record`: its answer, if that is for others, too."""

    has_ended: asyncio.Event = field(default_factory=asyncio.Event)
    record: AnswerRecord | None = None
    is_unshared: bool = False  # it has ended, and what it brought is not for others


async def through_cache(
    key: str,
    *,
    is_usable: IsUsable,
    compute: Compute,
    is_stopped: Callable[[], bool] = lambda: False,
    may_keep: MayKeep = lambda record: True,
    wait_seconds: float = WAIT_SECONDS,
) -> tuple[AnswerRecord, bool]:
    """The answer and whether it came from the cache; of several requests at once one computes it, the others wait.

    `is_usable` is asked before a kept answer is given out; `may_keep` before a new one is kept. Without Redis each
    process computes its own. Nobody waits longer than `wait_seconds`, and a stopped request does not wait at all:
    `compute` knows how to end.
    """
    until, place = time.monotonic() + wait_seconds, (id(asyncio.get_running_loop()), key)
    while not is_stopped() and time.monotonic() < until:
        if (earlier := _flights.get(place)) is None:
            flight = _flights[place] = _Flight()
            try:
                return await _lead(key, flight, is_usable, compute, is_stopped, may_keep, until)
            finally:
                _flights.pop(place, None)
                flight.has_ended.set()
        await _wait(earlier, until, is_stopped)
        if earlier.is_unshared:
            break
        if earlier.record is not None and await is_usable(earlier.record):
            return earlier.record, True
    return await compute(), False


async def _wait(flight: _Flight, until: float, is_stopped: Callable[[], bool]) -> None:
    """Until the other request has ended, the time is up, or this request is stopped."""
    while not flight.has_ended.is_set() and not is_stopped() and (seconds := until - time.monotonic()) > 0:
        try:
            async with asyncio.timeout(min(seconds, 1.0)):
                await flight.has_ended.wait()
        except TimeoutError:
            continue


async def _lead(
    key: str,
    flight: _Flight,
    is_usable: IsUsable,
    compute: Compute,
    is_stopped: Callable[[], bool],
    may_keep: MayKeep,
    until: float,
) -> tuple[AnswerRecord, bool]:
    """The kept answer, or that of another process, or a new one; only one request of this process is here."""
    tries = 0
    while True:
        try:
            stored = await client().get(key)
        except RedisError:
            logger.exception("the answer cache cannot be read")
            return await _compute(flight, compute, may_keep), False
        if stored == UNSHARED:
            flight.is_unshared = True
            return await compute(), False
        if record := await _load_usable(stored, is_usable):
            flight.record = record
            return record, True
        async with _lock(key) as first:
            if first is None:
                return await _compute(flight, compute, may_keep), False
            if first:
                since = await _get(key)  # the holder of the lock may have ended since the first look
                if since != stored and (record := await _load_usable(since, is_usable)):
                    flight.record = record
                    return record, True
                return await _compute_and_keep(key, flight, compute, may_keep), False
        if is_stopped() or time.monotonic() > until:
            return await compute(), False
        await asyncio.sleep(POLL_SECONDS[min(tries, len(POLL_SECONDS) - 1)])
        tries += 1


async def kept_answer(key: str, *, is_usable: IsUsable) -> AnswerRecord | None:
    """The usable answer that is kept under this key; nothing is waited for."""
    return await _load_usable(await _get(key), is_usable)


@asynccontextmanager
async def _lock(key: str) -> AsyncIterator[bool | None]:
    """Whether this process may compute; None: Redis does not say."""
    async with AsyncExitStack() as stack:
        try:
            first: bool | None = await stack.enter_async_context(redis_lock(f"{key}:lock", wait_seconds=0))
        except RedisError:
            logger.exception("the lock of an answer cannot be had")
            first = None
        yield first


async def _get(key: str) -> str | bytes | None:
    try:
        stored: str | bytes | None = await client().get(key)
    except RedisError:
        return None
    return stored


async def _load_usable(stored: str | bytes | None, is_usable: IsUsable) -> AnswerRecord | None:
    if stored is None or stored == UNSHARED:
        return None
    record = AnswerRecord.from_json(json.loads(stored))
    return record if await is_usable(record) else None


async def _compute(flight: _Flight, compute: Compute, may_keep: MayKeep) -> AnswerRecord:
    """Compute an answer for the requests of this process that wait; they learn of a failure, too.

    One that is cut off by its reader tells nothing of the question: another request computes then.
    """
    try:
        record = await compute()
    except Exception:
        flight.is_unshared = True
        raise
    if is_cacheable(record) and may_keep(record):
        flight.record = replace(record, metadata=replace(record.metadata, answered_at=timezone.now().isoformat()))
    else:
        flight.is_unshared = not record.metadata.stopped
    return record


async def _compute_and_keep(key: str, flight: _Flight, compute: Compute, may_keep: MayKeep) -> AnswerRecord:
    """The same for the requests of all processes."""
    try:
        return await _compute(flight, compute, may_keep)
    finally:
        if flight.record is not None:
            value = json.dumps(flight.record.to_json(), ensure_ascii=False)
            await asyncio.shield(_keep(key, value, TTL_SECONDS))
        elif flight.is_unshared:
            await asyncio.shield(_keep(key, UNSHARED, UNSHARED_SECONDS))


async def _keep(key: str, value: str, seconds: int) -> None:
    """An answer that cannot be kept is an answer all the same."""
    try:
        await client().set(key, value, ex=seconds)
    except RedisError:
        logger.exception("an answer could not be kept")


def is_cacheable(record: AnswerRecord) -> bool:
    """Whole answers only: a degraded, stopped or unchecked one is worse than the next try.

    So is one that was searched for while the embedding model of a set did not answer.
    """
    is_lacking = UNCHECKED in record.metadata.notes or bool(record.trace.get(SILENT_MODELS))
    return record.status in CACHED_STATUSES and not record.metadata.stopped and not is_lacking


def from_cache(record: AnswerRecord, *, seconds: float, kind: str = "exact", understood: str | None) -> AnswerRecord:
    """A kept answer with the figures of this request: nothing was generated, nothing was spent.

    `kind`: "exact" or "semantic"; `understood`: this question without its conversation, where that is another one.
    """
    metadata = replace(
        record.metadata,
        cache=kind,
        understood=understood,
        total_time=round(seconds, 4),
        rewrite_time=None,
        retrieve_time=None,
        rerank_time=None,
        generate_time=None,
        first_token_time=None,
        thinking_time=None,
        stage_times={},
        cost=0.0,
        usage={"prompt_tokens": 0, "completion_tokens": 0, "reasoning_tokens": 0, "total_tokens": 0},
        usage_by_purpose={},
    )
    return replace(record, metadata=metadata)
