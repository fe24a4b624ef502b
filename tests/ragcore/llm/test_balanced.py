"""One model at several servers."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.llm.balanced import BalancedChatModel
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.ports import ChatMessage
from tests.contracts.chat_model import ChatModelContract
from tests.scripted_llm import Reply, serving

ASKED = [ChatMessage(role="user", content="Why?")]


async def at_once(seconds):
    return None


@pytest.fixture
def servers():
    with ExitStack() as stack:
        running = [stack.enter_context(serving()) for _ in range(2)]
        for number, server in enumerate(running):
            server.default = Reply(texts=(f"by {number}",))
        yield running


def balanced(servers, **options):
    return BalancedChatModel([OpenAIChatModel(one.url, "", "m", sleep=at_once) for one in servers], **options)


async def said(model):
    events = [event async for event in model.stream(ASKED, temperature=0, max_tokens=20)]
    return "".join(event.text for event in events)


class TestBalancedChatModel(ChatModelContract):
    @pytest.fixture
    def chat(self, llm):
        return balanced([llm, llm])


async def test_the_server_with_fewer_requests_under_way_is_asked(servers):
    model = balanced(servers)
    for server in servers:
        server.default = Reply(texts=("by ", "it"), hold_before=1)
    first = model.stream(ASKED, temperature=0, max_tokens=20)
    await anext(first)

    second = model.stream(ASKED, temperature=0, max_tokens=20)
    await anext(second)

    assert [len(server.requests) for server in servers] == [1, 1]
    for server in servers:
        server.release.set()
    assert "".join([event.text async for event in first]) == "it"
    assert "".join([event.text async for event in second]) == "it"
    assert model._busy == [0, 0]


@pytest.mark.parametrize("status", [401, 404, 429, 500])
async def test_a_server_that_fails_rests_and_the_other_one_answers(servers, status):
    now = [0.0]
    model = balanced(servers, clock=lambda: now[0], rest_seconds=30)
    servers[0].default = Reply(status=status)

    assert {await said(model) for _ in range(4)} == {"by 1"}

    assert len(servers[0].requests) <= 1  # once, without retries, then it rests
    servers[0].default = Reply(texts=("by 0",))
    servers[1].default = Reply(status=status)
    now[0] = 31.0
    assert await said(model) == "by 0"


async def test_a_server_that_hangs_is_left_for_the_other_one(servers):
    model = balanced(servers, patience_seconds=0.2)
    servers[0].default = Reply(hold_before=0)

    assert {await said(model) for _ in range(3)} == {"by 1"}
    servers[0].release.set()


async def test_where_all_fail_the_last_one_is_asked_with_all_retries(servers):
    for server in servers:
        server.default = Reply(status=500)

    with pytest.raises(ModelUnavailableError):
        await said(balanced(servers))

    assert sorted(len(server.requests) for server in servers) == [1, 4]
    for server in servers:
        server.requests.clear()
    with pytest.raises(ModelUnavailableError):
        await said(balanced(servers).with_short_retries())
    assert sorted(len(server.requests) for server in servers) == [1, 2]


async def test_what_is_wrong_with_the_prompt_is_not_tried_elsewhere(servers):
    for server in servers:
        server.default = Reply(status=413)
    model = balanced(servers)

    with pytest.raises(ModelUnavailableError) as caught:
        await said(model)

    assert caught.value.data["status"] == 413
    assert sum(len(server.requests) for server in servers) == 1
    assert model.resting == ()


async def test_many_at_once_spread_evenly(servers):
    model = balanced(servers)
    for server in servers:
        server.default = Reply(texts=("a", "b"), hold_before=1)

    running = [model.stream(ASKED, temperature=0, max_tokens=20) for _ in range(8)]
    await asyncio.gather(*(anext(one) for one in running))

    assert [len(server.requests) for server in servers] == [4, 4]
    for server in servers:
        server.release.set()
    for one in running:
        await one.aclose()
