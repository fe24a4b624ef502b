"""Open WebSockets of a person, over all web processes."""

import asyncio

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from chat.concurrency import open_sockets as module
from chat.concurrency.open_sockets import OpenSockets, TooManySocketsError
from chat.consumers import TOO_MANY_SOCKETS
from tests.chat.sockets import LIMIT_SECONDS, Socket


@pytest.fixture(autouse=True)
def two_sockets(settings, redis_client):
    settings.SOCKETS_PER_PERSON = 2


async def test_processes_count_the_sockets_of_a_person_together():
    one, two = OpenSockets(), OpenSockets()
    first = await one.enter(1)
    await two.enter(1)

    with pytest.raises(TooManySocketsError):
        await one.enter(1)
    await two.enter(2)  # somebody else

    await one.leave(1, first)
    await one.leave(1, first)
    await two.enter(1)
    with pytest.raises(TooManySocketsError):
        await one.enter(1)
    await asyncio.gather(one.close(), two.close())


async def test_sockets_of_a_killed_process_are_forgotten_and_living_ones_renewed(monkeypatch, redis_client):
    monkeypatch.setattr(module, "LEASE_SECONDS", 0.2)
    monkeypatch.setattr(module, "RENEW_SECONDS", 0.02)
    killed, living = OpenSockets(), OpenSockets()
    await killed.enter(1)
    await living.enter(1)
    await killed.close()

    async with asyncio.timeout(10):
        while redis_client.zcount("sockets:1", f"({redis_client.time()[0] * 1000}", "+inf") > 1:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    redis_client.delete("sockets:1")  # a Redis that was restarted
    async with asyncio.timeout(10):
        while redis_client.zcard("sockets:1") != 1:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await living.close()


async def test_a_socket_that_leaves_while_it_is_renewed_stays_away(monkeypatch, redis_client):
    """The renewal comes to Redis after the news that the socket left."""
    sockets = OpenSockets()
    gone, kept = await sockets.enter(1), await sockets.enter(1)
    script = await_script(monkeypatch, lambda: sockets.leave(1, gone))

    await sockets._renew_person(1)

    assert script.called
    assert redis_client.zrange("sockets:1", 0, -1) == [kept]
    await sockets.close()


def await_script(monkeypatch, before):
    """Scripts of Redis wait for something else before they are sent."""

    class Late:
        called = False

        def register_script(self, text):
            send = real().register_script(text)

            async def late(**sent):
                Late.called = True
                await before()
                return await send(**sent)

            return late

        def __getattr__(self, name):
            return getattr(real(), name)

    real = module.client
    monkeypatch.setattr(module, "client", Late)
    return Late


async def test_without_redis_pages_open_uncounted(monkeypatch):
    def broken():
        raise RedisConnectionError

    monkeypatch.setattr(module, "client", broken)
    sockets = OpenSockets()

    tokens = [await sockets.enter(1) for _ in range(3)]

    await sockets.leave(1, tokens[0])
    await sockets.close()


async def test_a_page_too_many_hears_why_and_is_closed(world):
    pages = [Socket(world.reader) for _ in range(3)]
    for page in pages:
        await page.connect()

    told = await pages[2].receive()
    closed = await pages[2].receive_output(LIMIT_SECONDS)
    await pages[0].disconnect()
    fourth = Socket(world.reader)
    await fourth.connect()
    await fourth.send_text("{}")

    assert (told["type"], told["code"]) == ("problem", "too_many_sockets")
    assert (closed["type"], closed["code"]) == ("websocket.close", TOO_MANY_SOCKETS)
    assert (await fourth.receive())["code"] == "invalid"  # it is heard
    for page in (pages[1], fourth):
        await page.disconnect()
    await module.close_open_sockets()
