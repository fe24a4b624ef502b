"""All turns of a process share one heartbeat."""

from __future__ import annotations

import asyncio
import uuid
from functools import partial

from redis.exceptions import ConnectionError as RedisConnectionError

from chat.concurrency.redis_client import alive_key, client, stop_key
from chat.turns import heartbeats as module
from chat.turns.heartbeats import Heartbeats
from ragsite.embedded.processes import wait_until

SECONDS = 20  # on a busy machine


async def test_only_the_turn_that_is_to_stop_hears_it_and_only_the_one_that_runs_is_alive(redis_client, monkeypatch):
    monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 0.01)
    beats, one, other = Heartbeats(), uuid.uuid4(), uuid.uuid4()
    stop_one, stop_other = asyncio.Event(), asyncio.Event()

    async with beats.of(one, stop_one):
        async with beats.of(other, stop_other):
            await client().set(stop_key(other), "1")
            await asyncio.wait_for(stop_other.wait(), SECONDS)
            assert redis_client.exists(alive_key(one), alive_key(other)) == 2
        is_gone = partial(wait_until, lambda: not redis_client.exists(alive_key(other)), seconds=SECONDS)
        assert await asyncio.to_thread(is_gone)  # a beat may have been on its way
        assert not stop_one.is_set()
    assert redis_client.exists(alive_key(one), stop_key(other)) == 0


async def test_a_redis_that_fails_once_ends_no_heartbeat(redis_client, monkeypatch):
    monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 0.01)
    turn, stop, failures = uuid.uuid4(), asyncio.Event(), [RedisConnectionError("away")]
    real = module.client

    class Client:
        def pipeline(self, **options):
            pipe = real().pipeline(**options)
            if failures:

                async def execute():
                    raise failures.pop()

                pipe.execute = execute
            return pipe

        def delete(self, *keys):
            return real().delete(*keys)

    monkeypatch.setattr(module, "client", Client)
    await real().set(stop_key(turn), "1")

    async with Heartbeats().of(turn, stop):
        await asyncio.wait_for(stop.wait(), SECONDS)

    assert failures == []
