"""The server in processes of its own, asked by the SDK's client over both transports."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import asynccontextmanager

import httpx
import httpx2
import pytest
from django.core.management import CommandError, call_command
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from ragsite.embedded.processes import free_port
from tests.chat.mcp.conftest import revoke
from tests.live_site import ROOT, await_answer, child_environment, running

QUESTION = "How many steps does the random access procedure have?"
pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def address(django_db_setup, tmp_path_factory):
    """One server for all tests: what it knows of people and documents, it asks the database for."""
    port, folder = free_port(), tmp_path_factory.mktemp("mcp")
    url = f"http://127.0.0.1:{port}/mcp"
    with running("manage.py", "mcp", "--http", "--port", str(port), folder=folder) as process:
        await_answer(url, process)
        yield url


@asynccontextmanager
async def over_http(address, key):
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=120) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client


def over_stdio(key):
    server = StdioServerParameters(
        command=sys.executable,
        args=["manage.py", "mcp", "--stdio"],
        env={**child_environment(), "RAGSITE_KEY": key},
        cwd=ROOT,
    )
    return Client(server)


async def titles(client, **arguments):
    result = await client.call_tool("search", {"query": QUESTION, **arguments})
    assert not result.is_error, result.content
    return [hit["external_id"] for hit in result.structured_content["hits"]]


@pytest.mark.full
async def test_an_agent_on_the_same_machine_asks_over_stdio(world, stranger):
    async with over_stdio(world.key) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"search", "answer", "fetch_source"}
        assert (await titles(client))[0] == "ra"
        answer = await client.call_tool("answer", {"query": QUESTION})
        foreign = await client.call_tool("fetch_source", {"document_id": stranger.document.pk})

    assert "four steps" in answer.structured_content["answer"]
    assert foreign.structured_content["error"]["code"] == "not_found"


def test_without_a_key_the_program_says_so_and_ends(monkeypatch):
    monkeypatch.delenv("RAGSITE_KEY", raising=False)

    with pytest.raises(CommandError, match="Set RAGSITE_KEY"):
        call_command("mcp", "--stdio")


@pytest.mark.full
def test_with_a_wrong_key_the_program_says_so_and_ends(world):
    done = subprocess.run(
        [sys.executable, "manage.py", "mcp", "--stdio"],
        env={**child_environment(), "RAGSITE_KEY": "rs_wrong"},
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode != 0
    assert "no valid API key" in done.stderr
    assert done.stdout == ""


async def test_agents_of_two_tenants_ask_one_server_at_once_and_see_their_own_only(world, stranger, address):
    async def asked(key):
        async with over_http(address, key) as client:
            return [await titles(client) for _ in range(3)]

    ours, theirs = await asyncio.gather(asked(world.key), asked(stranger.key))

    assert {name for names in ours for name in names} <= set(world.documents)
    assert ours[0][0] == "ra"
    assert {name for names in theirs for name in names} == {"merger"}


async def test_every_request_needs_a_key_that_is_valid_now(world, address):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    key = {"Authorization": f"Bearer {world.key}"}
    async with (
        httpx.AsyncClient(headers={"Accept": "application/json, text/event-stream"}) as plain,
        over_http(address, world.key) as client,
    ):
        await titles(client)
        valid = await plain.post(address, json=body, headers=key)
        await revoke(world.reader)
        revoked = await plain.post(address, json=body, headers=key)
        missing = await plain.post(address, json=body)
        foreign = await plain.post(address, json=body, headers={"Host": "evil.example"})
        elsewhere = await plain.get(address.removesuffix("/mcp") + "/other")

    assert [answer.status_code for answer in (valid, foreign, elsewhere)] == [200, 400, 404]
    for answer in (missing, revoked):
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
        assert answer.json()["error"]["code"] == "not_authenticated"
