"""A model that fails is left alone by all processes, and asked again by itself."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from django.test import override_settings

from knowledge import model_circuits, model_registry
from knowledge.model_circuits import OPEN_AFTER, ModelCircuit
from knowledge.model_setup import circuit, setup_now
from ragcore.errors import ModelUnavailableError
from ragcore.llm import openai_chat
from tests.contracts.chat_model import MESSAGES
from tests.scripted_llm import Reply, serving

pytestmark = pytest.mark.usefixtures("redis_client")
SLOW = ModelUnavailableError("slow", seconds="30")


class Probe:
    """A server that answers when it is told to."""

    def __init__(self):
        self.asked, self.answers = threading.Semaphore(0), False

    def __call__(self):
        self.asked.release()
        return self.answers


@pytest.fixture
def probe(monkeypatch):
    monkeypatch.setattr(model_circuits, "PROBE_DELAYS_SECONDS", (0.01,))
    return Probe()


def opened(probe, key="m"):
    found = ModelCircuit(key, probe)
    for _ in range(OPEN_AFTER):
        found.note_failure(SLOW)
    return found


def until(holds):
    limit = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < limit
        threading.Event().wait(0.01)


def test_after_some_failures_in_a_row_a_model_is_left_alone(probe):
    one = ModelCircuit("m", probe)
    for _ in range(OPEN_AFTER - 1):
        one.note_failure(SLOW)
    assert one.refusal() is None
    one.note_success()
    one.note_failure(SLOW)
    assert one.refusal() is None

    for _ in range(OPEN_AFTER - 1):
        one.note_failure(SLOW)

    assert one.refusal().message == SLOW.message
    one.end()


def test_it_is_asked_in_the_background_until_it_answers(probe):
    one = opened(probe)
    for _ in range(3):
        assert probe.asked.acquire(timeout=20)
    assert one.refusal() is not None

    probe.answers = True

    until(lambda: one.refusal() is None)
    assert one.figures.failed == one.figures.calls == OPEN_AFTER  # probes are no calls


def test_another_process_knows_it_and_its_return(probe):
    one, other = opened(probe), ModelCircuit("m", probe)
    other.refresh()
    assert other.refusal().message == SLOW.message
    assert other.figures.failed == OPEN_AFTER

    one.note_success()
    other.refresh()

    assert other.refusal() is None
    assert (other.figures.calls, other.figures.failed) == (OPEN_AFTER + 1, OPEN_AFTER)
    one.end()
    other.end()


def test_answers_that_break_off_are_told_and_keep_nobody_from_asking(probe):
    one = ModelCircuit("m", probe)
    for _ in range(2 * OPEN_AFTER):
        one.note_failure(ModelUnavailableError("cut"))

    assert one.refusal() is None
    assert one.figures.failed == 2 * OPEN_AFTER
    assert one.figures.error.reason == "cut"


def test_a_model_of_the_registry_waits_for_no_server_that_is_down(monkeypatch):
    """Each call took seven seconds of retries; from the fourth on none does, until its server is back."""
    monkeypatch.setattr(openai_chat, "RETRY_DELAYS_SECONDS", ())
    monkeypatch.setattr(model_circuits, "PROBE_DELAYS_SECONDS", (0.05,))

    async def said():
        stream = model_registry.chat_model().stream(MESSAGES, temperature=0, max_tokens=9)
        return "".join([event.text async for event in stream])

    with serving() as server, override_settings(LLM_BASE_URL=server.url, LLM_MODEL="m"):
        server.default = Reply(status=503)
        for _ in range(OPEN_AFTER + 5):
            with pytest.raises(ModelUnavailableError, match="HTTP 503"):
                asyncio.run(said())
        calls = [request for request in server.requests if len(request.body["messages"]) == len(MESSAGES)]
        assert len(calls) == OPEN_AFTER

        server.default = Reply(texts=("back",))
        until(lambda: not circuit(setup_now().models["standard"]).figures.is_open)

        assert asyncio.run(said()) == "back"
