"""Conversation state and the window of history."""

import uuid

import pytest
import pytest_asyncio

from chat.concurrency.redis_client import client, close
from chat.conversations.memory import history_window, session_history, session_key, session_store, session_turn
from ragcore.types.answering import Turn


class Letters:
    """Counts a token a character."""

    def count(self, text):
        return len(text)

    def truncate(self, text, limit):
        return text[:limit]


def turns(*answers):
    return [Turn(question=f"q{n}", answer=answer) for n, answer in enumerate(answers)]


def test_the_oldest_turns_are_dropped_first():
    window = history_window(turns("a" * 50, "b" * 10, "c" * 10), fixed="f" * 10, counter=Letters(), budget_tokens=40)

    assert [turn.question for turn in window] == ["q1", "q2"]


def test_the_last_turn_stays_even_when_it_is_too_long():
    window = history_window(turns("a", "b" * 500), fixed="f", counter=Letters(), budget_tokens=100)

    assert [turn.question for turn in window] == ["q1"]


def test_markers_of_earlier_answers_are_taken_out():
    (turn,) = history_window(turns("Four steps [1][2]."), fixed="", counter=Letters())

    assert turn.answer == "Four steps."


@pytest.mark.django_db(transaction=True)
async def test_a_session_keeps_its_turns_in_order_and_expires(redis_client):
    ids = {"user_id": 1, "conversation_id": uuid.uuid4()}
    leaf = uuid.uuid4()
    await session_store(**ids, turns=turns("a", "a", "a"), leaf=leaf)

    assert [turn.question for turn in await session_history(**ids, until=leaf)] == ["q0", "q1", "q2"]
    key = session_key(**ids)
    assert 7000 < await client().ttl(f"{key}:messages") <= 7200
    assert (await client().hgetall(key))["last_question"] == "q2"


async def test_the_lock_of_a_session_is_given_back_when_a_turn_fails(redis_client):
    ids = {"user_id": 1, "conversation_id": uuid.uuid4()}
    name = f"{session_key(**ids)}:lock"

    async def failing_turn():
        async with session_turn(**ids):
            assert await client().exists(name)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await failing_turn()

    assert not await client().exists(name)


# ── without Redis ─────────────────────────────────────────────────────────────────────────────────


@pytest_asyncio.fixture
async def no_redis(settings):
    await close()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    yield
    await close()


async def test_a_follow_up_question_is_understood_where_redis_is_down(api, no_redis):
    await api.generate("What is a handover?", conversation_id="talk")
    second = await api.generate("And when does it fail?", conversation_id="talk")

    (step,) = (step for step in second["agentic_steps"] if step["name"] == "standalone")
    assert "handover" in step["detail"]["standalone"]
