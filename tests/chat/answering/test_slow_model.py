"""A slow or thinking model through the API: its text flows longer than every limit of the question, and is not cut.

The limits of question, request and first token are seconds here and not minutes.
"""

import asyncio
from functools import partial

import pytest

from chat.answering import context as timing
from chat.answering.context import Deadline
from chat.answering.shortcomings import degraded_message
from chat.turns import lifecycle
from knowledge import model_registry
from ragcore.errors import ModelUnavailableError
from ragcore.llm.generators import LLMAnswerGenerator
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.model_limits import ModelLimits
from tests.chat.conftest import sse
from tests.scripted_llm import Reply

QUESTION = "How many steps does the random access procedure have?"
ANSWER = "The random access procedure has four steps [1]."
PIECES = tuple(ANSWER[at : at + 4] for at in range(0, len(ANSWER), 4))
PAUSE_SECONDS = 0.3
SECONDS = 3.0  # of a request: searching on a busy machine has to fit


@pytest.fixture
def limited(monkeypatch, llm):
    """Sets the limits of the model; those of question and request are shorter than a flowing answer takes."""

    def set_limits(**seconds):
        model = OpenAIChatModel(llm.url, "", "scripted", limits=ModelLimits(**seconds))
        monkeypatch.setattr(model_registry, "chat_model", lambda: model)
        monkeypatch.setattr(model_registry, "generator", lambda: LLMAnswerGenerator(model))
        monkeypatch.setattr(lifecycle, "Deadline", partial(Deadline, seconds=SECONDS))
        monkeypatch.setattr(lifecycle, "ANSWER_LIMIT_SECONDS", SECONDS)
        monkeypatch.setattr(lifecycle, "TURN_LIMIT_SECONDS", SECONDS)
        monkeypatch.setattr(timing, "WRITING_SECONDS", 1.0)
        return llm

    return set_limits


@pytest.mark.full
@pytest.mark.parametrize("way", [{}, {"mode": "agentic"}, {"strategy": "self_rag"}], ids=str)
async def test_text_that_flows_outlasts_the_limits_of_question_and_request(api, limited, way):
    llm = limited()
    llm.default = Reply(texts=PIECES, pause_seconds=PAUSE_SECONDS)

    answer = await api.generate(QUESTION, rewrite_method="none", **way)

    assert (answer["status"], answer["answer"]) == ("answered", ANSWER)
    assert len(PIECES) * PAUSE_SECONDS > SECONDS


async def test_so_it_does_for_a_reader_who_reads_along(api, limited):
    llm = limited()
    llm.default = Reply(texts=PIECES, pause_seconds=PAUSE_SECONDS)

    events = await sse(await api.post("/api/v1/rag/generate/stream", {"query": QUESTION, "rewrite_method": "none"}))

    assert events[-1]["type"] == "done"
    assert events[-1]["status"] == "answered"
    assert "".join(event["content"] for event in events if event["type"] == "chunk") == ANSWER


async def test_thinking_is_told_and_not_shown(api, limited):
    llm = limited()
    llm.default = Reply(thoughts=("Well, ",) * 12, texts=(ANSWER,), pause_seconds=PAUSE_SECONDS)

    events = await sse(await api.post("/api/v1/rag/generate/stream", {"query": QUESTION, "rewrite_method": "none"}))

    assert "think" in [event.get("name") for event in events if event["type"] == "step"]
    assert "".join(event["content"] for event in events if event["type"] == "chunk") == ANSWER
    assert "Well" not in str(events)


@pytest.mark.full
async def test_a_model_with_a_longer_limit_of_its_own_is_waited_for(api, limited):
    llm = limited(first_token_seconds=30)
    llm.default = Reply(hold_before=0, texts=(ANSWER,))
    asking = asyncio.create_task(api.generate(QUESTION, rewrite_method="none"))
    done, _ = await asyncio.wait({asking}, timeout=2 * SECONDS)
    assert not done

    llm.release.set()

    assert (await asking)["answer"] == ANSWER


async def test_a_model_that_falls_silent_leaves_what_it_wrote_marked_as_incomplete(api, limited):
    llm = limited(between_tokens_seconds=0.3)
    llm.default = Reply(texts=("The random access procedure ", "never"), hold_before=1)

    answer = await api.generate(QUESTION, rewrite_method="none")

    assert (answer["status"], answer["answer"]) == ("degraded", "The random access procedure")
    assert "stopped responding" in answer["metadata"]["error_message"]
    assert len(llm.requests) == 1  # nobody waits for a second silence


@pytest.mark.parametrize(
    ("reply", "limits", "words", "strict"),
    [
        (Reply(hold_before=0), {"first_token_seconds": 0.3}, "did not answer in time", "within 0.3 seconds"),
        (
            Reply(status=401, failure={"error": {"message": "No such key"}}),
            {},
            "refused the request (HTTP 401)",
            "(HTTP 401): No such key",
        ),
        (Reply(status=501, failure=b"<!DOCTYPE html><p>No"), {}, "(HTTP 501)", "Not an OpenAI-compatible server"),
    ],
)
async def test_slow_and_refusing_models_are_told_apart(api, limited, reply, limits, words, strict):
    llm = limited(**limits)
    llm.default = reply

    answer = await api.generate(QUESTION, rewrite_method="none")
    refused = await api.post("/api/v1/rag/generate", {"query": QUESTION, "rewrite_method": "none", "strict": True})

    assert answer["status"] == "degraded"
    assert "four steps" in answer["answer"]
    assert words in answer["metadata"]["error_message"]
    assert refused.status_code == 500
    message = refused.json()["error"]["message"]
    assert strict in message
    assert "<" not in message


def test_every_way_in_which_a_model_fails_has_words():
    said = {reason: degraded_message(reason) for reason in ("unreachable", "slow", "lost", "cut", "rejected")}

    assert len(set(said.values())) == 4
    assert "cannot be reached" in said["unreachable"]
    assert {"unreachable", "slow", "lost", "cut", "rejected"} <= set(ModelUnavailableError.reasons)
