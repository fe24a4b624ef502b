"""Events of turns in Redis Streams."""

import asyncio
import uuid

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from accounts.scope import Scope
from chat.concurrency import redis_client
from chat.concurrency.redis_client import alive_key, client, events_key
from chat.turns import stream_log
from chat.turns.stream_hub import Hub, block_milliseconds, hub
from chat.turns.stream_log import TurnLog
from chat.turns.stream_reader import read_events

pytestmark = pytest.mark.usefixtures("redis_client")
READER = Scope(tenant_id=1, user_id=1, clearance=0)


async def collected(message_id, after=0):
    return [event async for event in read_events(message_id, after, scope=READER)]


async def alive(message_id):
    await client().set(alive_key(message_id), "1", ex=30)


async def test_a_reader_gets_every_event_in_order_while_the_turn_runs():
    message_id = uuid.uuid4()
    await alive(message_id)
    reading = asyncio.create_task(collected(message_id))

    async with TurnLog(message_id) as log:
        await log("context", message_id=str(message_id), chunks_count=2)
        await log("chunk", content="one ")
        await log("step", name="x", detail="y")
        await log("chunk", content="two")
        await log("done", status="answered")

    events = await reading
    assert [event.type for event in events] == ["context", "chunk", "step", "chunk", "done"]
    assert [event.sequence for event in events] == [1, 2, 3, 4, 5]


async def test_words_that_wait_together_are_joined_and_only_the_last_tail_is_kept():
    message_id = uuid.uuid4()

    async with TurnLog(message_id) as log:
        for word in ("a", "b", "c"):
            await log("chunk", content=word)
            await log("tail", text=word)
        await log("done")

    events = await collected(message_id)
    assert "".join(e.data["content"] for e in events if e.type == "chunk") == "abc"
    assert [e.data["text"] for e in events if e.type == "tail"][-1] == "c"
    assert len(events) == 3


@pytest.mark.parametrize("after", [0, 1, 2])
async def test_reading_resumes_after_any_number(after):
    message_id = uuid.uuid4()
    async with TurnLog(message_id) as log:
        await log("context")
        await log("citations", citations=[])
        await log("done")

    assert [event.sequence for event in await collected(message_id, after)] == [1, 2, 3][after:]


async def test_the_stream_expires_an_hour_after_its_end():
    message_id = uuid.uuid4()
    async with TurnLog(message_id) as log:
        await log("done")

    assert 3500 < await client().ttl(events_key(message_id)) <= 3600


@pytest.mark.full
async def test_two_hundred_readers_share_one_connection():
    message_ids = [uuid.uuid4() for _ in range(20)]
    for message_id in message_ids:
        await alive(message_id)
    readers = [asyncio.create_task(collected(message_id)) for message_id in message_ids for _ in range(10)]

    async def turn(message_id):
        async with TurnLog(message_id) as log:
            for word in range(5):
                await log("step", n=word)
            await log("done")

    await asyncio.gather(*map(turn, message_ids))
    results = await asyncio.gather(*readers)

    assert {len(events) for events in results} == {6}
    assert not hub()._streams


@pytest.mark.django_db(transaction=True)
async def test_a_turn_that_nobody_works_on_any_more_ends_with_an_error():
    message_id = uuid.uuid4()
    await client().xadd(events_key(message_id), {"type": "context", "data": "{}"}, id="0-1")

    events = await collected(message_id)

    assert [(event.type, event.sequence) for event in events] == [("context", 1), ("error", 2)]
    assert events[-1].data["code"] == "interrupted"


async def test_a_stream_on_which_nothing_happens_is_read_on_without_any_error(monkeypatch, caplog):
    monkeypatch.setattr(redis_client, "SOCKET_SECONDS", 2.0)  # a busy machine may answer late
    reads, read_thrice = [], asyncio.Event()
    read = Hub._read

    async def counted(self):
        try:
            await read(self)
        finally:
            reads.append(block_milliseconds())
            if len(reads) == 3:
                read_thrice.set()

    monkeypatch.setattr(Hub, "_read", counted)
    queue = await hub().follow(events_key(uuid.uuid4()), after=0)

    await asyncio.wait_for(read_thrice.wait(), 30)

    assert queue.empty()
    assert set(reads) == {1200}
    assert [record for record in caplog.records if record.name == "chat.turns.stream_hub"] == []


@pytest.mark.parametrize(("limit", "block"), [(5.0, 3000), (60.0, 5000), (0.001, 1), (None, 5000)])
async def test_a_read_waits_less_than_the_connection_does(monkeypatch, limit, block):
    monkeypatch.setattr(redis_client, "SOCKET_SECONDS", limit)

    assert block_milliseconds() == block


async def test_first_words_do_not_wait_for_the_pause_and_later_ones_share_events(monkeypatch):
    monkeypatch.setattr(stream_log, "INTERVAL_SECONDS", 2.0)
    monkeypatch.setattr(stream_log, "LONGEST_INTERVAL_SECONDS", 2.0)
    message_id, loop = uuid.uuid4(), asyncio.get_running_loop()

    async with TurnLog(message_id) as log:
        queue = await hub().follow(log.key, after=0)
        await log("step", name="search")
        await asyncio.wait_for(queue.get(), 1)  # the pause has begun
        started = loop.time()
        await log("chunk", content="first")
        first = await asyncio.wait_for(queue.get(), 10)
        waited = loop.time() - started
        for word in (" second", " third"):
            await log("chunk", content=word)
        later = await asyncio.wait_for(queue.get(), 10)

    assert (first.data["content"], later.data["content"]) == ("first", " second third")
    assert waited < 1


async def test_readers_in_the_process_of_a_turn_need_no_redis(monkeypatch):
    def broken():
        raise RedisConnectionError

    message_id = uuid.uuid4()
    monkeypatch.setattr(stream_log, "client", broken)

    async with TurnLog(message_id) as log:
        await log("chunk", content="one")
        reading = asyncio.create_task(collected(message_id))
        await asyncio.sleep(0)
        await log("chunk", content=" two")
        await log("done")
        events = await asyncio.wait_for(reading, 10)

    assert "".join(event.data.get("content", "") for event in events) == "one two"
    assert events[-1].type == "done"
    assert not hub().is_local(log.key)
