"""What a model may cost whatever it does: tokens, bytes, rounds (OWASP LLM10), and that its word is no act (LLM06)."""

from __future__ import annotations

import json

import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.llm.completion_stream import MAX_LINE_BYTES
from ragcore.llm.openai_chat import MAX_TOKEN_CHARACTERS, OpenAIChatModel
from ragcore.model_limits import ModelLimits
from ragcore.ports import ChatMessage
from tests.chat.conftest import Api, llm, world  # noqa: F401 (fixtures)
from tests.scripted_llm import Reply, serving

QUESTION = "How many steps does the random access procedure have?"


async def read(server, max_tokens, **options):
    model = OpenAIChatModel(server.url, "", "scripted", limits=ModelLimits(first_token_seconds=20), **options)
    messages = (ChatMessage(role="user", content="x"),)
    events = [event async for event in model.stream(messages, temperature=0, max_tokens=max_tokens)]
    await model.close()
    return "".join(event.text for event in events), events[-1]


async def test_a_model_that_does_not_stop_at_its_tokens_is_stopped():
    with serving() as server:
        server.default = Reply(texts=("more words and " * 10,) * 2_000)  # 300 kB

        text, end = await read(server, max_tokens=10)

    assert len(text) == 10 * MAX_TOKEN_CHARACTERS
    assert (end.is_cut, end.interrupted) == (True, False)


async def test_a_line_without_an_end_is_not_kept_in_memory():
    async def at_once(seconds: float) -> None:
        return None

    with serving() as server:
        server.default = Reply(body=b"data: " + b"x" * (MAX_LINE_BYTES + 100_000))
        with pytest.raises(ModelUnavailableError):
            await read(server, max_tokens=10, sleep=at_once)


@pytest.mark.parametrize("way", [{"mode": "ultimate"}, {"mode": "agentic"}, {"strategy": "self_rag"}])
async def test_a_model_that_always_wants_another_round_gets_no_more_than_the_limit(world, llm, way):  # noqa: F811
    wants_more = {
        "sufficient": False, "relevance": 0.1, "confidence": 0.0, "grade": "poor", "missing": ["more"], "score": 0.0,
        "queries": [f"another question {n}" for n in range(500)], "query": "again", "needs_retrieval": True,
    }  # fmt: skip
    llm.default = Reply(texts=(json.dumps(wants_more),))

    answer = await Api(world.key).generate(QUESTION, max_agentic_iterations=2, cache=False, **way)

    assert answer["iterations"] <= 3
    assert len(answer["retrieval_history"]) <= 10
    assert 1 <= len(llm.requests) <= 25
    assert all(request.body["max_tokens"] <= 4096 for request in llm.requests)
