"""Agents with keys of two tenants."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from mcp import Client

from accounts.models import ApiKey, User
from accounts.services import api_key_create
from chat.concurrency.executors import run_db
from chat.mcp.server import mcp_server
from chat.mcp.tools import caller_of_fixed_key
from knowledge.models import Chunk, Document, KnowledgeSet
from tests.chat.conftest import World, world_make
from tests.factories import ingest, make_admin, make_set, make_tenant

SECRET = "The merger with Contoso closes in March. The code name of the merger is Bluebird."


@dataclass
class Stranger:
    """Somebody of another tenant, with a document of their own."""

    user: User
    key: str
    knowledge_set: KnowledgeSet
    document: Document
    chunk: Chunk


@dataclass
class Tenants:
    """The world of the chat's tests, and the stranger."""

    world: World
    stranger: Stranger


@pytest.fixture
def tenants(shared_rows, redis_client) -> Tenants:
    return shared_rows(tenants_make)


@pytest.fixture
def world(tenants) -> World:
    return tenants.world


@pytest.fixture
def stranger(tenants) -> Stranger:
    return tenants.stranger


def tenants_make() -> Tenants:
    return Tenants(world_make(), stranger_make())


def stranger_make() -> Stranger:
    user = make_admin(tenant=make_tenant("abroad"))
    kept = make_set("secrets", owners=[user])
    document = ingest(user, kept, merger=SECRET)["merger"]
    _, key = api_key_create(user=user, name="agent")
    return Stranger(user, key, kept, document, Chunk.objects.get(version__document=document))


@asynccontextmanager
async def agent(key: str):
    """A client of the SDK, connected to a server of this process that acts with the key."""
    async with Client(mcp_server(caller_of_fixed_key(key))) as client:
        yield client


async def called(key: str, tool: str, **arguments: Any) -> Any:
    """The result of one call."""
    async with agent(key) as client:
        return await client.call_tool(tool, arguments)


async def given(key: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """The values of a call that must succeed."""
    result = await called(key, tool, **arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(key: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """The error of a call that must fail with one of ours."""
    result = await called(key, tool, **arguments)
    assert result.is_error
    assert result.content[0].text == result.structured_content["error"]["message"]
    return result.structured_content["error"]


async def revoke(key_of: User) -> None:
    from django.utils import timezone

    await run_db(ApiKey.objects.filter(user=key_of).update, revoked=timezone.now())
