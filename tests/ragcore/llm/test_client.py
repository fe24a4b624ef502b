"""Asking a model: what comes back, what is counted, and what is not asked at all."""

import asyncio
from dataclasses import replace

import pytest

from ragcore.llm.client import LlmClient, json_values
from ragcore.llm.usage import purpose_of_prompt
from ragcore.model_limits import ModelLimits
from ragcore.ports import GenerationEvent
from ragcore.types import Usage
from tests.ragcore.grading.world import USELESS, model_server, says
from tests.scripted_llm import Reply

VALUES = {"question": "How many steps?", "context": "Four."}


async def test_tokens_are_counted_by_prompt_and_shared_with_askers_made_from_it():
    with model_server(default=says('{"grade": 7}')) as (_, client):
        await client.text("judge_retrieval", **VALUES)
        await replace(client, seconds=5.0).text("judge_retrieval", **VALUES)
        await client.text("refine_hop", **VALUES)

    ten = Usage(prompt_tokens=7, completion_tokens=3)
    assert client.used == {"judge_retrieval": ten + ten, "refine_hop": ten}
    assert client.usage.total_tokens == 30


class Hanging:
    """Says a few words and then nothing more."""

    name = "hanging"

    async def stream(self, messages, *, temperature, max_tokens):
        yield GenerationEvent(text="So far")
        await asyncio.Event().wait()


async def test_a_request_that_is_given_up_counts_what_its_server_may_count():
    client = LlmClient(Hanging(), seconds=0.1)

    assert await client.text("refine_hop", **VALUES) is None

    assert client.counts["late"] == 1
    assert client.used["refine_hop"].prompt_tokens > 50
    assert client.used["refine_hop"].completion_tokens == 2


async def test_a_server_that_refuses_has_used_nothing():
    with model_server(default=USELESS["500"]) as (_, client):
        assert await client.text("refine_hop", **VALUES) is None

    assert (client.counts["unavailable"], client.usage) == (1, Usage())


async def test_beyond_a_limit_nothing_is_asked():
    allowed = [True]
    with model_server(default=says("{}")) as (server, client):
        client.limits.append(lambda: allowed[0])
        await client.text("refine_hop", **VALUES)
        allowed[0] = False
        assert await client.text("refine_hop", **VALUES) is None
        assert await replace(client).text("refine_hop", **VALUES) is None

    assert (len(server.requests), client.counts["limited"]) == (1, 2)


@pytest.mark.parametrize(
    ("reply", "values"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('Sure! ```json\n{"a": {"b": 1}}\n``` and [2]', [{"a": {"b": 1}}, [2]]),
        ("no JSON at all", []),
        ('{"a": "cut', []),
    ],
)
def test_json_is_found_among_words(reply, values):
    assert list(json_values(reply)) == values


@pytest.mark.parametrize(
    ("prompt", "purpose"),
    [
        ("standalone", "understanding"),
        ("rewrite_hyde", "rewriting"),
        ("compress", "compression"),
        ("judge_support", "judging"),
        ("refine_query", "searching"),
        ("conversation", "writing"),
    ],
)
def test_every_prompt_has_a_purpose(prompt, purpose):
    assert purpose_of_prompt(prompt) == purpose


async def test_why_a_model_did_not_answer_is_told_apart():
    with model_server(default=USELESS["500"]) as (_, down):
        await down.text("refine_hop", **VALUES)
    with model_server(default=Reply(status=400)) as (_, refusing):
        await refusing.text("refine_hop", **VALUES)
    with model_server(default=USELESS["hanging"]) as (_, mute):
        mute.model.limits, mute.seconds, mute.silent_after = ModelLimits(total_seconds=30), 0.2, 0.2
        await replace(mute, seconds=0.05).text("refine_hop", **VALUES)  # too little time to say so
        assert not mute.counts["silent"]
        await mute.text("refine_hop", **VALUES)
    slow = LlmClient(Hanging(), seconds=0.1, silent_after=0.1)
    await slow.text("refine_hop", **VALUES)

    told = [(client.counts["unreachable"], client.counts["silent"]) for client in (down, refusing, mute, slow)]
    assert told == [(1, 0), (0, 0), (0, 1), (0, 0)]


@pytest.mark.parametrize(("left", "asked"), [(0.0, 0), (5.0, 1)])
async def test_without_time_left_for_the_answer_nothing_is_asked(left, asked):
    with model_server(default=says("{}")) as (server, client):
        client.seconds_left = lambda: left
        reply = await client.text("refine_hop", **VALUES)

    assert (len(server.requests), reply) == (asked, "{}" if asked else None)
