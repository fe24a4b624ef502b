"""Places for running questions, over all web processes."""

import asyncio
from contextlib import suppress
from types import SimpleNamespace

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from accounts.errors import RateLimitedError
from chat.concurrency import admission
from chat.concurrency.admission import KEY, Places
from chat.errors import BusyError


@pytest.fixture(autouse=True)
def four_places(settings, redis_client):
    settings.MAX_IN_FLIGHT = 4
    settings.WEB_PROCESSES = 2


async def take_all(places, person, number):
    return [await places.take(person) for _ in range(number)]


async def refused(places, person):
    with pytest.raises(BusyError) as error:
        await places.take(person)
    return error.value.data["retry_after_seconds"]


async def test_processes_share_the_places_and_one_person_may_have_them_all():
    one, two = Places(), Places()
    held = [*await take_all(one, 1, 2), *await take_all(two, 1, 2)]

    assert await refused(one, 1) == admission.RETRY_AFTER_SECONDS
    assert await refused(two, 1)

    await held[0].release()
    await two.take(1)
    assert await refused(one, 1)


async def test_a_place_is_given_back_once(redis_client):
    places = Places()
    place = await places.take(1)

    async with place:
        assert redis_client.zcard(KEY) == 1
    await place.release()

    assert redis_client.zcard(KEY) == 0


async def test_who_has_few_places_gets_one_of_those_kept_for_that(settings):
    settings.MAX_IN_FLIGHT = 8
    one, two = Places(), Places()
    await take_all(one, 1, 8)

    await two.take(2)
    await two.take(3)

    assert await refused(two, 4)  # two extra places are there, a quarter of eight
    assert await refused(one, 1)


async def test_when_everybody_has_a_place_the_next_one_is_refused():
    places = Places()
    for person in range(4):
        await places.take(person)

    assert await refused(places, 9)


async def test_places_of_a_killed_process_become_free(monkeypatch):
    monkeypatch.setattr(admission, "LEASE_SECONDS", 1.0)  # longer than a busy machine keeps the living one waiting
    monkeypatch.setattr(admission, "RENEW_SECONDS", 0.05)
    killed, living = Places(), Places()
    await take_all(killed, 1, 2)
    await take_all(living, 1, 2)
    await killed.close()

    assert await refused(living, 1)
    await asyncio.sleep(1.5)

    await take_all(living, 2, 2)
    assert await refused(living, 2)
    await living.close()


async def test_renewing_ends_with_its_loop_also_where_the_client_swallows_the_cancellation(monkeypatch):
    monkeypatch.setattr(admission, "RENEW_SECONDS", 0)
    places, asked = Places(), asyncio.Event()
    await places.take(1)

    async def swallows(**_):
        asked.set()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)

    monkeypatch.setattr(admission, "client", lambda: SimpleNamespace(register_script=lambda _: swallows))
    async with asyncio.timeout(10):
        await asked.wait()
        places._renewing.cancel()
        await asyncio.wait({places._renewing})


async def test_places_are_known_again_after_redis_lost_them(monkeypatch, redis_client):
    monkeypatch.setattr(admission, "RENEW_SECONDS", 0.05)
    places = Places()
    await take_all(places, 1, 3)

    redis_client.delete(KEY)

    async with asyncio.timeout(10):
        while redis_client.zcard(KEY) != 3:  # noqa: ASYNC110 (another server)
            await asyncio.sleep(0.02)
    await places.close()


async def test_without_redis_each_process_gives_out_its_part(monkeypatch):
    calls = []

    def broken():
        calls.append(1)
        raise RedisConnectionError

    monkeypatch.setattr(admission, "client", broken)
    places = Places()

    held = await take_all(places, 1, 2)
    assert await refused(places, 1)
    await held[0].release()
    await places.take(1)

    assert len(calls) == 1  # a Redis that is down is not asked for every question


async def test_the_part_of_a_process_is_fair_too(monkeypatch, settings):
    settings.MAX_IN_FLIGHT = 16
    monkeypatch.setattr(admission, "client", lambda: (_ for _ in ()).throw(RedisConnectionError()))
    places = Places()
    await take_all(places, 1, 8)

    await take_all(places, 2, 2)

    assert await refused(places, 2)
    assert await refused(places, 1)


@pytest.mark.parametrize(
    ("limit", "other"),
    [
        ("MAX_IN_FLIGHT_PER_PERSON", {"person": 2, "tenant": 1, "key": "a"}),
        ("MAX_IN_FLIGHT_PER_TENANT", {"person": 1, "tenant": 2, "key": "a"}),
        ("MAX_IN_FLIGHT_PER_KEY", {"person": 1, "tenant": 1, "key": ""}),
    ],
)
async def test_a_person_a_tenant_and_a_key_may_have_limits_of_their_own(settings, limit, other):
    setattr(settings, limit, 2)
    one, two = Places(), Places()
    first = await one.take(1, tenant=1, key="a")
    await two.take(1, tenant=1, key="a")

    with pytest.raises(RateLimitedError) as error:
        await two.take(1, tenant=1, key="a")

    assert (error.value.data["limit"], error.value.data["retry_after_seconds"]) == (2, admission.RETRY_AFTER_SECONDS)
    await two.take(**other)
    await first.release()
    await two.take(1, tenant=1, key="a")
