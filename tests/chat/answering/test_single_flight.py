"""One computation for equal questions at once, over tasks and processes."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from dataclasses import replace

import pytest

from chat.answering import cache
from chat.concurrency import redis_client as chat_redis
from chat.types import AnswerMetadata, AnswerRecord

ANSWER = AnswerRecord(text="kept", html="", status="answered", confidence=1.0)
KEY = "answer:flight"


async def usable(record: AnswerRecord) -> bool:
    return True


@pytest.fixture(autouse=True)
async def closed(redis_client):
    yield
    await chat_redis.close()


def counted(record: AnswerRecord = ANSWER, *, seconds: float = 0.2):
    """A computation, and the list that it adds to each time."""
    calls: list[float] = []

    async def compute() -> AnswerRecord:
        calls.append(time.monotonic())
        await asyncio.sleep(seconds)
        return record

    return compute, calls


def held(record: AnswerRecord = ANSWER):
    """A computation that begins with `entered` and goes on at `leave`, and the list that it adds to each time."""
    calls: list[float] = []
    entered, leave = asyncio.Event(), asyncio.Event()

    async def compute() -> AnswerRecord:
        calls.append(time.monotonic())
        entered.set()
        await leave.wait()
        return record

    return compute, calls, entered, leave


async def ask(compute, **options) -> tuple[AnswerRecord, bool]:
    return await cache.through_cache(KEY, is_usable=usable, compute=compute, **options)


def test_of_fifty_askers_in_several_processes_one_computes(redis_client):
    """Event loops share nothing but Redis, as processes do."""
    compute, calls = counted(seconds=0.5)
    results: list[tuple[AnswerRecord, bool]] = []

    async def many() -> None:
        results.extend(await asyncio.gather(*(ask(compute) for _ in range(10))))
        await chat_redis.close()

    processes = [threading.Thread(target=asyncio.run, args=(many(),)) for _ in range(5)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    assert len(calls) == 1
    assert sorted(hit for _record, hit in results) == [False] + [True] * 49


async def test_the_lease_of_a_process_that_died_ends(redis_client, monkeypatch):
    redis_client.set(f"{KEY}:lock", "of a dead process", px=600)
    compute, calls = counted(seconds=0)
    start = time.monotonic()

    record, hit = await ask(compute)

    assert (record.text, hit, len(calls)) == ("kept", False, 1)
    assert 0.3 < time.monotonic() - start < 5
    assert json.loads(redis_client.get(KEY))["text"] == "kept"


async def test_nobody_waits_longer_than_allowed(redis_client):
    redis_client.set(f"{KEY}:lock", "of a slow process", px=60_000)
    compute, calls = counted(seconds=0)
    start = time.monotonic()

    answers = await asyncio.gather(*(ask(compute, wait_seconds=0.5) for _ in range(3)))

    assert [hit for _record, hit in answers] == [False] * 3
    assert len(calls) == 3
    assert time.monotonic() - start < 5


async def test_who_is_stopped_does_not_wait(redis_client):
    redis_client.set(f"{KEY}:lock", "of a slow process", px=60_000)
    compute, calls = counted(seconds=0)
    stopped = asyncio.Event()
    asking = asyncio.create_task(ask(compute, is_stopped=stopped.is_set))
    await asyncio.sleep(0.2)

    stopped.set()
    await asyncio.wait_for(asking, 5)

    assert len(calls) == 1


async def test_after_a_reader_has_gone_another_one_computes(redis_client):
    compute, calls, entered, leave = held()
    gone = asyncio.create_task(ask(compute))
    await entered.wait()
    others = [asyncio.create_task(ask(compute)) for _ in range(5)]
    await asyncio.sleep(0)  # they begin to wait for it

    gone.cancel()
    leave.set()
    answers = await asyncio.gather(*others)

    assert len(calls) == 2
    assert sorted(hit for _record, hit in answers) == [False, True, True, True, True]


async def test_what_is_not_for_others_is_computed_by_each_at_once(redis_client):
    degraded = replace(ANSWER, status="degraded")
    begun: list[None] = []
    everybody = asyncio.Event()

    async def compute() -> AnswerRecord:
        begun.append(None)
        if len(begun) == 1:
            return degraded
        if len(begun) == 5:
            everybody.set()
        await asyncio.wait_for(everybody.wait(), 30)  # the other four compute at the same time
        return degraded

    answers = await asyncio.gather(*(ask(compute) for _ in range(5)))

    assert [hit for _record, hit in answers] == [False] * 5
    assert len(begun) == 5


async def test_a_stopped_answer_says_nothing_about_the_question(redis_client):
    stopped = replace(ANSWER, metadata=AnswerMetadata(stopped=True))
    first, _calls, entered, leave = held(stopped)
    second, calls = counted()
    stopping = asyncio.create_task(ask(first))
    await entered.wait()

    waiting = asyncio.create_task(ask(second))
    await asyncio.sleep(0)
    leave.set()
    record, hit = await waiting
    await stopping

    assert (record.text, hit, len(calls)) == ("kept", False, 1)
    assert redis_client.get(KEY) is not None


async def test_an_error_reaches_its_asker_and_stops_nobody_else(redis_client):
    entered, leave = asyncio.Event(), asyncio.Event()

    async def failing() -> AnswerRecord:
        entered.set()
        await leave.wait()
        raise RuntimeError("broken")

    compute, calls = counted()
    first = asyncio.create_task(ask(failing))
    await entered.wait()

    waiting = asyncio.create_task(ask(compute))
    await asyncio.sleep(0)
    leave.set()
    record, _hit = await waiting

    with pytest.raises(RuntimeError):
        await first
    assert (record.text, len(calls)) == ("kept", 1)


async def test_without_redis_the_requests_of_a_process_still_share(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # nobody listens there
    compute, calls = counted()

    answers = await asyncio.gather(*(ask(compute) for _ in range(10)))

    assert len(calls) == 1
    assert sum(hit for _record, hit in answers) == 9


async def test_what_is_not_usable_for_one_is_computed_for_them(redis_client):
    async def never(record: AnswerRecord) -> bool:
        return False

    compute, calls = counted(seconds=0)
    await ask(compute)

    _record, hit = await cache.through_cache(KEY, is_usable=never, compute=compute)

    assert (hit, len(calls)) == (False, 2)
