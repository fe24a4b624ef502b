"""A reader who stops before the last writing is not kept waiting: through turns, with a model that holds."""

import asyncio
import json

import pytest
from asgiref.sync import sync_to_async

from chat.answering import grounding
from chat.models import Conversation, Message
from chat.turns.lifecycle import turn_start, turn_stop
from chat.turns.stream_reader import read_events
from chat.types import AnswerRequest
from knowledge import model_registry
from ragcore.llm.generators import LLMAnswerGenerator
from ragcore.llm.openai_chat import OpenAIChatModel
from tests.factories import scope_of
from tests.scripted_llm import Reply, serving

QUESTION = "How many steps does the random access procedure have?"
ANSWER = "The random access procedure has four steps [1]."
LIMIT_SECONDS = 15  # of a test; the server holds a request for 30
HELD = Reply(hold_before=0)
WAYS = [
    {"mode": "agentic"},
    {"strategy": "self_rag"},
    {"mode": "ultimate", "rewrite_method": "multi"},
    {"rewrite_method": "hyde"},
    {"strategy": "adaptive"},
    {"strategy": "adaptive", "query": "Hello!"},
]


class Watched:
    """A model that tells when it is asked, and whether whoever asked has gone."""

    name = "scripted"

    def __init__(self, model):
        self.model, self.asked, self.cancelled = model, asyncio.Queue(), 0

    async def stream(self, messages, *, temperature, max_tokens):
        self.asked.put_nowait(messages)
        try:
            async for event in self.model.stream(messages, temperature=temperature, max_tokens=max_tokens):
                yield event
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def asked_times(self, count):
        for _ in range(count):
            await self.asked.get()


@pytest.fixture
def held(monkeypatch):
    """A server that takes requests and says nothing, and the model in front of it."""
    with serving() as server:
        server.default = HELD
        model = Watched(OpenAIChatModel(server.url, "", "scripted"))
        monkeypatch.setattr(model_registry, "chat_model", lambda: model)
        monkeypatch.setattr(model_registry, "generator", lambda: LLMAnswerGenerator(model))
        yield server, model


class Reader:
    """Somebody who asks, stops and reads to the end."""

    def __init__(self, world):
        self.user = world.reader

    async def asks(self, query=QUESTION, *, cache=False, **options):
        self.scope = await sync_to_async(scope_of)(self.user)
        request = AnswerRequest(query=query, cache=cache, given=frozenset(options), **options)
        channel = Conversation.Channel.WEB
        return await turn_start(scope=self.scope, user=self.user, request=request, channel=channel)

    async def stops(self, message):
        await turn_stop(scope=self.scope, message_id=message.pk)
        events = [event async for event in read_events(message.pk, 0, scope=self.scope)]
        return events, await Message.objects.aget(pk=message.pk)


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_stop_before_any_text_ends_the_answer_and_the_request_under_way(world, held, way):
    _server, model = held
    reader = Reader(world)

    async with asyncio.timeout(LIMIT_SECONDS):
        message = await reader.asks(**way)
        await model.asked_times(1)
        events, stored = await reader.stops(message)

    assert (stored.state, stored.answer) == (Message.State.STOPPED, "")
    assert events[-1].type == "done"
    assert (events[-1].data["state"], events[-1].data["status"], stored.status) == ("stopped",) * 3
    assert events[-1].data["confidence"] == 0
    assert 1 <= model.cancelled <= 2  # judge and writer are asked at the same time
    assert model.asked.qsize() == model.cancelled - 1  # nothing else was asked afterwards


async def test_what_a_loop_has_written_and_not_judged_yet_is_kept(world, held):
    server, model = held
    server.script(Reply(texts=(json.dumps({"grade": 9}),)), Reply(texts=(ANSWER,)))
    reader = Reader(world)

    async with asyncio.timeout(LIMIT_SECONDS):
        message = await reader.asks(strategy="self_rag")
        await model.asked_times(3)
        _events, stored = await reader.stops(message)

    assert (stored.state, stored.answer) == (Message.State.STOPPED, ANSWER)
    cited = [citation async for citation in stored.citations.filter(cited=True)]
    assert [citation.number for citation in cited] == [1]
    assert stored.metadata["stopped"]


async def test_what_was_found_before_the_stop_is_shown(world, held):
    _server, model = held
    reader = Reader(world)

    async with asyncio.timeout(LIMIT_SECONDS):
        message = await reader.asks(mode="agentic")
        await model.asked_times(2)  # the judge of the passages and the writer
        _events, stored = await reader.stops(message)

    assert stored.state == Message.State.STOPPED
    assert await stored.citations.acount() > 0
    assert await stored.citations.filter(cited=True).acount() == 0


async def test_a_stopped_reader_does_not_wait_for_another_one_s_answer(world, held):
    server, model = held
    first, second = Reader(world), Reader(world)

    async with asyncio.timeout(LIMIT_SECONDS):
        writing = await first.asks(cache=True, strategy="self_rag")
        await model.asked_times(1)
        waiting = await second.asks(cache=True, strategy="self_rag")
        _events, stored = await second.stops(waiting)
        assert stored.state == Message.State.STOPPED
        assert len(server.requests) == 1
        _events, stored = await first.stops(writing)

    assert stored.state == Message.State.STOPPED


async def test_the_model_s_word_on_a_written_text_is_not_waited_for(world, held, monkeypatch):
    server, model = held
    server.script(Reply(texts=("The answer to it comes within a window of steps in the cell [1].",)))
    await sync_to_async(_judge_support)(world)
    monkeypatch.setattr(grounding, "STRICTER", 0.9)
    reader = Reader(world)

    async with asyncio.timeout(LIMIT_SECONDS):
        message = await reader.asks(sets=(world.knowledge_set.pk,))
        await model.asked_times(2)
        _events, stored = await reader.stops(message)

    assert stored.answer.startswith("The answer to it")
    assert stored.state == Message.State.DONE  # it was written to its end
    assert model.cancelled == 1


def _judge_support(world):
    world.knowledge_set.options = {"answer": {"judge_support": True}}
    world.knowledge_set.save()
