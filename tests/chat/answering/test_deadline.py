"""How long anybody waits for a model that does not answer: through the API, and in what writes."""

import asyncio
import time
from functools import partial

import pytest

from chat.answering import context as timing
from chat.answering import stage_ports
from chat.answering.context import Deadline
from chat.turns import lifecycle
from knowledge import model_registry
from ragcore.llm.client import LlmClient
from ragcore.llm.generators import LLMAnswerGenerator
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.model_limits import ModelLimits
from tests.chat.answering.test_streaming import Announcing, model, writer
from tests.scripted_llm import Reply, serving

QUESTION = "How many steps does the random access procedure have?"
ANSWER = "The random access procedure has four steps [1]."
WAYS = [
    {"mode": "agentic"},
    {"mode": "ultimate"},
    {"strategy": "self_rag"},
    {"strategy": "self_rag", "mode": "agentic"},
]


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_what_helps_an_answer_leaves_time_for_the_text_and_no_time_is_below_zero():
    clock = Clock()
    deadline = Deadline(seconds=30, clock=clock)
    assert (deadline.remaining(), deadline.remaining_before_writing()) == (30, 20)

    clock.now += 25
    assert (deadline.remaining(), deadline.remaining_before_writing()) == (5, 0)

    clock.now += 25
    assert (deadline.remaining(), deadline.remaining_before_writing()) == (0, 0)


# ── a model that is down ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_model_that_is_down_is_given_up_once_and_not_by_each_step(api, llm, way):
    llm.default = Reply(status=500)

    answer = await api.generate(QUESTION, rewrite_method="multi", **way)

    assert answer["status"] == "degraded"
    assert "four steps" in answer["answer"]
    assert len(llm.requests) == 2  # one request with the one retry of what rules can do, too


@pytest.mark.parametrize("way", [{"strategy": "adaptive"}, {"strategy": "adaptive", "mode": "agentic"}], ids=str)
async def test_the_choice_of_a_way_gives_a_model_up_soon_and_nobody_asks_it_again(api, llm, monkeypatch, way):
    """Here retries wait as long as they do."""
    llm.default = Reply(status=500)
    down = OpenAIChatModel(llm.url, "", "scripted")
    monkeypatch.setattr(model_registry, "chat_model", lambda: down)
    monkeypatch.setattr(model_registry, "generator", lambda: LLMAnswerGenerator(down))
    question = "How many steps does the random access procedure have today?"  # a word of time: a model may resolve it

    answer = await api.generate(question, rewrite_method="multi", **way)

    assert answer["status"] == "degraded"
    assert len(llm.requests) == 2
    assert answer["metadata"]["total_time"] < 5  # three retries take seven seconds


async def test_a_model_with_too_many_requests_is_only_asked_to_write(api, llm):
    llm.script(Reply(status=429), Reply(status=429))
    llm.default = Reply(texts=(ANSWER,))

    answer = await api.generate(QUESTION, rewrite_method="multi", mode="enhanced")

    assert (answer["status"], answer["answer"]) == ("answered", ANSWER)
    assert len(llm.requests) == 3


async def test_what_a_model_refuses_at_once_does_not_keep_it_from_writing(api, llm):
    llm.script(Reply(status=400))
    llm.default = Reply(texts=(ANSWER,))

    answer = await api.generate(QUESTION, rewrite_method="multi")

    assert (answer["status"], answer["answer"]) == ("answered", ANSWER)


# ── a model that hangs ──────────────────────────────────────────────────────────────────────────


@pytest.fixture
def hanging(monkeypatch, llm):
    """A server that takes requests and says nothing for half a minute; the times of an answer are short instead."""
    llm.default = Reply(hold_before=0)
    monkeypatch.setattr(lifecycle, "Deadline", partial(Deadline, seconds=4.0))
    monkeypatch.setattr(timing, "RESERVE_SECONDS", 1.0)
    monkeypatch.setattr(stage_ports, "SILENT_SECONDS", 0.1)
    monkeypatch.setattr(stage_ports, "LlmClient", partial(LlmClient, seconds=0.3, silent_after=0.3))
    hung = OpenAIChatModel(llm.url, "", "scripted")
    monkeypatch.setattr(model_registry, "chat_model", lambda: hung)
    monkeypatch.setattr(model_registry, "generator", lambda: LLMAnswerGenerator(hung))
    return llm


@pytest.mark.parametrize("way", [{}, *WAYS], ids=str)
async def test_a_model_that_hangs_gives_an_answer_from_the_sources_in_time(api, hanging, way):
    start = time.monotonic()

    answer = await api.generate(QUESTION, rewrite_method="multi", **way)

    assert answer["status"] == "degraded"
    assert "four steps" in answer["answer"]
    assert time.monotonic() - start < 20  # whoever waits for the server needs 30 seconds
    assert len(hanging.requests) <= 2  # one that helps, one that writes


@pytest.mark.full
async def test_a_strict_client_is_told_in_time_that_the_model_hangs(api, hanging):
    response = await api.post("/api/v1/rag/generate", {"query": QUESTION, "strict": True, "strategy": "self_rag"})

    assert response.status_code == 500


# ── writing ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("streamed", [True, False])
async def test_without_a_first_word_in_time_the_sources_speak(streamed):
    with serving() as server:
        server.default = Reply(hold_before=0)
        writing, events = writer(model(server), seconds=0.3, streamed=streamed)

        draft = await writing.run()

    assert "four steps" in draft.text
    assert draft.is_fallback
    assert events.steps() == ["degraded"]


async def test_a_text_that_nobody_reads_along_is_kept_as_far_as_it_came_in_time():
    with serving() as server:
        server.default = Reply(texts=("It has ", "four steps [1]."), hold_before=1)
        writing, _ = writer(model(server, limits=ModelLimits(between_tokens_seconds=0.5)), streamed=False)

        draft = await writing.run()

    assert draft.text == "It has"
    assert "incomplete" in draft.degraded
    assert not draft.is_fallback


async def test_a_text_that_somebody_reads_may_grow_beyond_the_time():
    with serving() as server:
        server.default = Reply(texts=("It has ", "four steps [1]."), hold_before=1)
        generator = Announcing(model(server))
        writing, _ = writer(generator, seconds=0.5)
        task = asyncio.create_task(writing.run())
        await generator.taken.wait()
        done, _ = await asyncio.wait({task}, timeout=0.8)
        assert not done
        server.release.set()

        draft = await task

    assert draft.text == "It has four steps [1]."
    assert draft.degraded is None
