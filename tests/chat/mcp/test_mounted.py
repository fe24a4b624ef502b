"""The tools at `/mcp` of the site itself, asked by the SDK's client over real HTTP."""

from __future__ import annotations

import time

import httpx
import pytest

from accounts.models import ApiKey
from accounts.selectors import key_digest
from accounts.services import api_key_revoke
from chat.concurrency.access_watch import access_watch
from chat.concurrency.executors import run_db
from knowledge import model_registry
from tests.chat.mcp.conftest import SECRET
from tests.chat.mcp.test_processes import QUESTION, over_http, titles
from tests.chat.test_asgi import serving

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPTED = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(autouse=True)
def not_warmed(monkeypatch):
    monkeypatch.setattr(model_registry, "warm", lambda: None)


async def test_an_agent_asks_the_site_and_sees_what_its_key_may_see(world, stranger):
    async with serving() as address, over_http(f"http://{address}/mcp", world.key) as client:
        found = await titles(client)
        answer = await client.call_tool("answer", {"query": QUESTION})
        foreign = await client.call_tool("search", {"query": "merger", "sets": [stranger.knowledge_set.pk]})
        nothing = await client.call_tool("search", {"query": "What is the code name of the merger with Contoso?"})

    assert found[0] == "ra"
    assert "four steps" in answer.structured_content["answer"]
    assert foreign.structured_content["error"]["code"] == "not_found"
    assert SECRET not in str(nothing)


async def test_agents_of_two_tenants_share_the_site_and_nothing_else(world, stranger):
    async with serving() as address:
        async with over_http(f"http://{address}/mcp", stranger.key) as client:
            theirs = await titles(client)
        async with over_http(f"http://{address}/mcp", world.key) as client:
            ours = await titles(client)

    assert (theirs, ours[0]) == (["merger"], "ra")


async def test_an_open_stream_ends_with_its_key(world):
    key = await run_db(ApiKey.objects.get, digest=key_digest(world.key))
    headers = {**ACCEPTED, "Authorization": f"Bearer {world.key}"}
    async with serving() as address, httpx.AsyncClient(headers=headers, timeout=10) as plain:
        async with plain.stream("GET", f"http://{address}/mcp") as opened:
            assert opened.status_code == 200
            await access_watch().subscribed.wait()

            began = time.monotonic()
            await run_db(lambda: api_key_revoke(key=key, actor=world.reader))
            rest = [part async for part in opened.aiter_bytes()]
            seconds = time.monotonic() - began

        after = await plain.get(f"http://{address}/mcp")

    assert (rest, after.status_code) == ([], 401)
    assert seconds < 1


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer rs_wrong"}, {"Authorization": "Basic eDp5"}])
async def test_without_a_valid_key_it_is_401(world, headers):
    async with serving() as address, httpx.AsyncClient(headers=ACCEPTED) as plain:
        answer = await plain.post(f"http://{address}/mcp", json=LIST, headers=headers)

    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert answer.json()["error"]["code"] == "not_authenticated"


async def test_the_rest_of_the_site_is_where_it_was(world):
    async with serving() as address, httpx.AsyncClient(headers={"Authorization": f"Bearer {world.key}"}) as plain:
        models = await plain.get(f"http://{address}/v1/models")
        beside = await plain.get(f"http://{address}/mcp/other")
        foreign = await plain.post(f"http://{address}/mcp", json=LIST, headers={"Host": "evil.example"})

    assert (models.status_code, beside.status_code, foreign.status_code) == (200, 404, 400)


async def test_questions_of_agents_count_as_others_do(world, settings):
    settings.QUESTIONS_PER_MINUTE = 1
    async with serving() as address, over_http(f"http://{address}/mcp", world.key) as client:
        first = await client.call_tool("search", {"query": QUESTION})
        second = await client.call_tool("search", {"query": QUESTION})

    assert not first.is_error
    assert second.structured_content["error"]["code"] == "rate_limited"
    assert second.structured_content["error"]["details"][0]["retry_after_seconds"] > 50


async def test_a_site_can_be_started_and_stopped_again(world):
    for _ in range(2):
        async with serving() as address, over_http(f"http://{address}/mcp", world.key) as client:
            assert await titles(client)
