"""How many requests ingestion may have at a model server at once, over all processes."""

import asyncio
import json
import threading
from dataclasses import dataclass, field

import pytest
from django.utils import timezone

from knowledge.models import Document, IndexEntry, IngestItem
from knowledge.selectors import job_get
from knowledge.services import documents_bulk, ingestion_advance, model_slots
from knowledge.services.ingestion import advance, chunk_and_represent
from knowledge.services.model_slots import SlottedChatModel, embedding_slot, model_slot
from ragcore.embedding.openai_api import OpenAIEmbedder
from ragcore.ports import ChatMessage, GenerationEvent
from tests.factories import scope_of
from tests.scripted_llm import Reply, serving


def never():
    """A sign of life that nobody expects."""
    raise AssertionError("nobody should have to wait")


@pytest.fixture
def slots(redis_client, settings):
    settings.MODEL_CONCURRENCY = 2
    return redis_client


def test_as_many_hold_a_slot_as_are_allowed_and_the_next_one_waits(slots):
    class Waited(Exception):
        pass

    def waits():
        raise Waited

    with model_slot("embedding", alive=never), model_slot("embedding", alive=never):
        with pytest.raises(Waited), model_slot("embedding", alive=waits):
            pass
        with model_slot("llm", alive=never):
            assert slots.zcard("model-slots:embedding") == 2

    assert slots.zcard("model-slots:embedding") == 0


def test_who_waits_gets_the_slot_that_comes_free(slots):
    holding, waiting = threading.Event(), threading.Event()
    held = [model_slot("embedding", alive=never) for _ in range(2)]
    for slot in held:
        slot.__enter__()

    def wait():
        with model_slot("embedding", alive=waiting.set):
            holding.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert waiting.wait(10)
    assert not holding.is_set()
    held[0].__exit__(None, None, None)

    assert holding.wait(10)
    thread.join()
    held[1].__exit__(None, None, None)


def test_the_slot_of_a_killed_process_comes_free_by_itself(slots):
    slots.zadd("model-slots:embedding", {"killed": 1, "also killed": 2})  # expired in 1970

    with model_slot("embedding", alive=never):
        assert slots.zrange("model-slots:embedding", 0, -1) != ["killed", "also killed"]


def test_vectors_that_are_made_in_this_process_need_no_slot(slots, settings):
    settings.EMBEDDER = "embedded"

    with embedding_slot(alive=never):
        assert not slots.exists("model-slots:embedding")


@dataclass
class Watched:
    """A chat model that notes how many are asking it at the same time."""

    name: str = "watched"
    asking: int = 0
    most: int = 0
    events: list[str] = field(default_factory=list)

    async def stream(self, messages, *, temperature, max_tokens):
        self.asking += 1
        self.most = max(self.most, self.asking)
        await asyncio.sleep(0)
        yield GenerationEvent(text="ok")
        self.asking -= 1


async def test_a_language_model_is_asked_by_no_more_than_are_allowed(slots):
    watched = Watched()
    model = SlottedChatModel(watched)

    async def ask():
        messages = [ChatMessage(role="user", content="?")]
        return [event.text async for event in model.stream(messages, temperature=0, max_tokens=5)]

    answers = await asyncio.gather(*(ask() for _ in range(6)))

    assert answers == [["ok"]] * 6
    assert 1 <= watched.most <= 2
    assert slots.zcard("model-slots:llm") == 0


# ── a model server with trouble ─────────────────────────────────────────────────────────────────


@pytest.mark.full
@pytest.mark.django_db
def test_a_load_survives_an_embedding_server_that_fails_every_third_time(slots, owner, common, settings, monkeypatch):
    """60 documents; every third request is refused with 429, 500 or a broken answer, also when repeated."""
    settings.EMBEDDER = "openai:scripted"
    rows = [
        {"external_id": f"d{n}", "title": f"d{n}", "text": f"Note {n}: " + "beam " * n, "sets": [common.pk]}
        for n in range(1, 61)
    ]
    job_id = documents_bulk(scope=scope_of(owner), actor=owner, lines=[json.dumps(r).encode() for r in rows]).job_id
    with serving() as server:
        client = OpenAIEmbedder(server.url, "", "scripted", batch=4, sleep=lambda seconds: None)
        monkeypatch.setattr(chunk_and_represent, "embedder", lambda: client)
        monkeypatch.setattr(advance, "embedder", lambda: client)
        trouble = [Reply(status=429), Reply(status=500), Reply(status=503), Reply(status=429)]  # one call, given up
        good = [Reply()] * 2
        server.script(*((good * 4 + trouble) * 12))
        put_off = 0
        while IngestItem.objects.filter(job=job_id, finished=None).exists():
            ingestion_advance(job_id=job_id)
            put_off += IngestItem.objects.filter(job=job_id, not_before__gt=timezone.now()).update(not_before=None)
        client.close()

    status = job_get(scope=scope_of(owner), job_id=job_id)
    assert (status.state, status.done, status.failed) == ("succeeded", 60, 0)
    assert put_off > 0
    assert Document.objects.filter(state="live").count() == 60
    assert IndexEntry.objects.values("version").distinct().count() == 60
    assert set(IngestItem.objects.values_list("error_code", "losses")) == {("", 0)}
    assert model_slots._redis().zcard("model-slots:embedding") == 0
