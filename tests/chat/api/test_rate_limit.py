"""So many questions a minute and person, by whatever way they come."""

from __future__ import annotations

import asyncio
from unittest.mock import patch

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from accounts.errors import RateLimitedError
from accounts.services import api_key_create
from chat import metrics
from chat.concurrency import limits
from chat.concurrency.executors import run_db
from chat.concurrency.limits import count_questions_or_raise
from chat.errors import InvalidAnswerRequestError
from tests.chat.conftest import Api
from tests.chat.mcp.conftest import given, refused

QUESTION = "What is a handover?"
WAYS = {
    "/api/v1/rag/retrieve": {"query": QUESTION},
    "/api/v1/rag/generate": {"query": QUESTION},
    "/api/v1/rag/generate/stream": {"query": QUESTION},
    "/api/v1/rag/query": {"query": QUESTION},
    "/api/v1/rag/query-stream": {"query": QUESTION},
    "/api/v1/rag/batch": {"queries": [QUESTION]},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": QUESTION}]},
}


@pytest.fixture
def limit(settings):
    def set_to(value: int) -> None:
        settings.QUESTIONS_PER_MINUTE = value

    return set_to


@pytest.mark.parametrize("path", WAYS)
async def test_the_question_after_the_last_that_is_allowed_is_429_in_the_envelope(api, limit, path):
    limit(1)
    first = await api.post(path, WAYS[path])
    if first.streaming:
        async for _part in first.streaming_content:
            pass

    second = await api.post(path, WAYS[path])

    assert (first.status_code, second.status_code) == (200, 429)
    assert second.json()["error"]["code"] == "rate_limited"
    assert second.json()["error"]["details"][0]["questions_per_minute"] == 1
    assert 55 <= int(second["Retry-After"]) <= 60


async def test_all_ways_and_keys_of_a_person_count_together(api, world, limit):
    limit(3)
    other_key = Api((await run_db(api_key_create, user=world.reader, name="second"))[1])
    await api.generate(QUESTION)
    assert (await other_key.post("/api/v1/rag/retrieve", {"query": QUESTION})).status_code == 200
    assert (await given(world.key, "search", query=QUESTION))["hits"]

    error = await refused(world.key, "answer", query=QUESTION)
    rest = await other_key.post("/api/v1/rag/generate", {"query": QUESTION})

    assert (error["code"], rest.status_code) == ("rate_limited", 429)


async def test_another_person_is_not_held_up(api, world, limit):
    limit(1)
    await api.generate(QUESTION)
    owner = Api((await run_db(api_key_create, user=world.owner, name="other"))[1])

    assert (await owner.post("/api/v1/rag/generate", {"query": QUESTION})).status_code == 200


async def test_a_key_and_a_tenant_may_have_limits_of_their_own(api, world, settings, redis_client):
    other_key = Api((await run_db(api_key_create, user=world.reader, name="second"))[1])
    colleague = Api((await run_db(api_key_create, user=world.owner, name="other"))[1])
    settings.QUESTIONS_PER_MINUTE, settings.QUESTIONS_PER_MINUTE_PER_KEY = 0, 1

    async def ask(who):
        return (await who.post("/api/v1/rag/retrieve", {"query": QUESTION})).status_code

    of_keys = [await ask(who) for who in (api, api, other_key, colleague)]
    redis_client.flushdb()
    settings.QUESTIONS_PER_MINUTE_PER_KEY, settings.QUESTIONS_PER_MINUTE_PER_TENANT = 0, 2
    of_tenant = [await ask(who) for who in (api, other_key, colleague)]

    assert of_keys == [200, 429, 200, 200]
    assert of_tenant == [200, 200, 429]


async def test_zero_is_no_limit(api, limit, redis_client):
    limit(0)

    for _ in range(3):
        await api.post("/api/v1/rag/retrieve", {"query": QUESTION})

    assert not redis_client.keys("rate:*")


async def test_what_only_reads_is_not_counted(api, limit):
    limit(1)

    answers = [await api.get(path) for path in ("/v1/models", "/api/v1/rag/filters") for _ in range(3)]

    assert {answer.status_code for answer in answers} == {200}


async def test_a_batch_counts_each_of_its_questions_and_has_a_place_for_all_or_none(api, limit):
    limit(3)
    assert (await api.post("/api/v1/rag/batch", {"queries": [QUESTION] * 2})).status_code == 200

    two_more = await api.post("/api/v1/rag/batch", {"queries": [QUESTION] * 2})
    one_more = await api.post("/api/v1/rag/batch", {"queries": [QUESTION]})

    assert (two_more.status_code, one_more.status_code) == (429, 200)


async def test_a_batch_that_no_minute_has_room_for_is_not_told_to_come_back(api, limit):
    limit(2)

    response = await api.post("/api/v1/rag/batch", {"queries": [QUESTION] * 3})

    assert response.status_code == 422
    assert "3 questions at once" in response.json()["error"]["message"]


@pytest.mark.parametrize("fault", [RedisConnectionError("down"), TimeoutError()])
async def test_an_answer_does_not_fail_because_questions_cannot_be_counted(api, limit, fault):
    limit(1)
    before = metrics.UNCOUNTED._value.get()
    with patch("redis.commands.core.AsyncScript.__call__", side_effect=fault):
        for _ in range(3):
            assert (await api.post("/api/v1/rag/retrieve", {"query": QUESTION})).status_code == 200

    assert metrics.UNCOUNTED._value.get() == before + 3


async def test_a_redis_that_hangs_holds_a_question_up_no_longer_than_its_limit(world, limit, monkeypatch):
    async def hanging(*_, **__):
        await asyncio.Event().wait()

    limit(1)
    monkeypatch.setattr(limits, "REDIS_SECONDS", 0.01)
    with patch("redis.commands.core.AsyncScript.__call__", hanging):
        await asyncio.wait_for(count_questions_or_raise(world.reader), 5)


async def test_questions_at_the_same_moment_are_counted_each(world, limit, monkeypatch):
    limit(20)
    monkeypatch.setattr(limits, "REDIS_SECONDS", 30)  # fifty connections are opened, on a busy machine not in a second

    fates = await asyncio.gather(*(count_questions_or_raise(world.reader) for _ in range(50)), return_exceptions=True)

    assert sum(fate is None for fate in fates) == 20
    assert sum(isinstance(fate, RateLimitedError) for fate in fates) == 30


async def test_no_minute_has_more_and_what_was_refused_was_not_counted(world, limit, redis_client):
    """The clock is moved by moving what was counted: a question of t seconds ago is one that was asked then."""
    limit(4)
    key = f"rate:{world.reader.pk}"

    def later(seconds: float) -> None:
        for member, score in redis_client.zrange(key, 0, -1, withscores=True):
            redis_client.zadd(key, {member: score - seconds * 1_000_000})

    await count_questions_or_raise(world.reader, questions=2)
    later(40)
    await count_questions_or_raise(world.reader, questions=2)
    for _ in range(5):
        with pytest.raises(RateLimitedError) as refusal:
            await count_questions_or_raise(world.reader)
    later(21)
    await count_questions_or_raise(world.reader, questions=2)
    with pytest.raises(RateLimitedError):
        await count_questions_or_raise(world.reader)

    assert 19 <= refusal.value.data["retry_after_seconds"] <= 20


async def test_it_is_one_round_trip_and_leaves_nothing_behind(world, limit, redis_client):
    limit(5)
    await count_questions_or_raise(world.reader)  # the first one brings the script
    counter = f"rate:{world.reader.pk}"

    with redis_client.monitor() as monitor:
        await count_questions_or_raise(world.reader)
        redis_client.echo("the-end")
        commands = list(iter(lambda: _command_of_a_client(monitor), "ECHO the-end"))

    assert [command.split()[0] for command in commands if counter in command] == ["EVALSHA"]
    assert 0 < redis_client.pttl(counter) <= 60_000


def _command_of_a_client(monitor) -> str:
    """The next command that no script sent; other tests' threads may send theirs to the same Redis."""
    while (entry := monitor.next_command())["client_type"] == "lua":
        pass
    return entry["command"]


async def test_more_at_once_than_a_minute_has_is_a_fault_of_the_request(world, limit):
    limit(5)

    with pytest.raises(InvalidAnswerRequestError):
        await count_questions_or_raise(world.reader, questions=6)


async def test_refusals_can_be_seen_by_operators(world, limit):
    limit(1)
    before = metrics.RATE_LIMITED._value.get()
    await count_questions_or_raise(world.reader)

    with pytest.raises(RateLimitedError):
        await count_questions_or_raise(world.reader)

    assert metrics.RATE_LIMITED._value.get() == before + 1
