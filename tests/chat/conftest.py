"""People, documents and clients for questions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from django.test import AsyncClient, Client

from accounts.models import User
from accounts.services import api_key_create
from chat.concurrency import redis_client as chat_redis
from chat.concurrency.admission import close_places
from chat.turns.lifecycle import turns_shutdown
from chat.turns.stream_hub import close_hub
from knowledge import model_registry
from knowledge.models import Document, KnowledgeSet
from ragcore.llm.generators import LLMAnswerGenerator
from ragcore.llm.openai_chat import OpenAIChatModel
from tests.factories import ingest, make_set, make_user
from tests.scripted_llm import ScriptedLLM, serving

TEXTS = {
    "ra": "The random access procedure has four steps. The preamble is sent on PRACH. "
    "The network answers with a random access response within the window.",
    "ho": "A handover moves a terminal from one cell to another. The source cell sends the handover command.",
    "ca": "载波聚合把多个载波合并使用，可以提高峰值速率。载波聚合最多支持三十二个载波。",
}


@dataclass
class World:
    """A reader with a key, an owner, and a set with three documents."""

    owner: User
    reader: User
    key: str
    knowledge_set: KnowledgeSet
    documents: dict[str, Document]


@pytest.fixture
def world(shared_rows, redis_client) -> World:
    return shared_rows(world_make)


def world_make() -> World:
    owner, reader = make_user(), make_user()
    knowledge_set = make_set("radio", owners=[owner])
    documents = ingest(owner, knowledge_set, **TEXTS)
    _, key = api_key_create(user=reader, name="tests")
    return World(owner, reader, key, knowledge_set, documents)


@pytest_asyncio.fixture(autouse=True)
async def end_of_turns():
    """Turns and connections belong to the event loop of a test."""
    yield
    await turns_shutdown()
    await close_hub()
    await close_places()
    await chat_redis.close()


class Api:
    """The API as a client with a key sees it."""

    def __init__(self, key: str) -> None:
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.client = AsyncClient()

    async def post(self, path: str, body: Any, **headers: str) -> Any:
        return await self.client.post(path, body, content_type="application/json", headers={**self.headers, **headers})

    async def get(self, path: str, **headers: str) -> Any:
        return await self.client.get(path, headers={**self.headers, **headers})

    async def generate(self, query: str, **options: Any) -> dict[str, Any]:
        response = await self.post("/api/v1/rag/generate", {"query": query, **options})
        assert response.status_code == 200, response.content
        return response.json()


@pytest.fixture
def browser(reader: User) -> Client:
    """A browser in which the `reader` of a module is signed in."""
    client = Client()
    client.force_login(reader)
    return client


@pytest.fixture
def api(world) -> Api:
    return Api(world.key)


@pytest.fixture
def llm(monkeypatch) -> Iterator[ScriptedLLM]:
    """A scripted server as the configured language model; its retries do not wait."""

    async def at_once(seconds: float) -> None:
        return None

    with serving() as server:
        model = OpenAIChatModel(server.url, "key", "scripted", sleep=at_once)
        monkeypatch.setattr(model_registry, "chat_model", lambda: model)
        monkeypatch.setattr(model_registry, "generator", lambda: LLMAnswerGenerator(model))
        yield server


async def sse(response: Any) -> list[dict[str, Any]]:
    """The events of a streamed response: data with the id, if there is one; the closing [DONE] is checked."""
    text = "".join([part.decode() async for part in response.streaming_content])
    *lines, last = text.strip().split("\n\n")
    assert last == "data: [DONE]"
    events = []
    for line in lines:
        *number, data = line.split("\n")
        event_id = {"id": int(number[0].removeprefix("id: "))} if number else {}
        events.append({**event_id, **json.loads(data.removeprefix("data: "))})
    return events
