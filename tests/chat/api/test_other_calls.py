"""Retrieve, query, batch, health and the OpenAI-compatible calls."""

import asyncio
import threading

import pytest

from chat.answering import retrieval
from tests.chat.conftest import sse
from tests.scripted_llm import Reply

QUESTION = "How many steps does the random access procedure have?"
ANSWER = ("The random access ", "procedure has four steps [1].")


async def test_retrieve_gives_hits_best_first_with_scores_and_times(api, world):
    response = await api.post("/api/v1/rag/retrieve", {"query": QUESTION, "sets": [world.knowledge_set.pk]})

    body = response.json()
    assert body["hits"][0]["external_id"] == "ra"
    assert body["hits"][0]["document_id"] == world.documents["ra"].pk
    assert body["hits"][0]["score"] in body["hits"][0]["scores"].values()
    assert {"coarse", "fine", "rerank", "total"} <= body["timings_ms"].keys()
    assert body["trace"] == {}


async def test_a_trace_is_given_on_request(api):
    body = (await api.post("/api/v1/rag/retrieve", {"query": QUESTION, "trace": True})).json()

    assert [stage["stage"] for stage in body["trace"]["stages"]][:2] == ["correct.terms", "search.coarse"]
    assert len(body["trace"]["candidates"]) == len(body["hits"])


async def test_graph_retrieval_says_that_there_is_no_graph(api):
    response = await api.post("/api/v1/rag/retrieve", {"query": QUESTION, "mode": "graph"})

    assert (response.status_code, response.json()["error"]["code"]) == (422, "graph_not_built")


async def test_a_search_that_takes_too_long_is_504(api, monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(retrieval, "LIMIT_SECONDS", 0)
    monkeypatch.setattr(retrieval, "retrieve", lambda **_: over.wait(30))

    response = await api.post("/api/v1/rag/generate", {"query": QUESTION})
    over.set()

    assert (response.status_code, response.json()["error"]["code"]) == (504, "timeout")


async def test_the_second_form_answers_with_its_sources(api, llm):
    llm.default = Reply(texts=ANSWER)

    body = (await api.post("/api/v1/rag/query", {"query": QUESTION, "top_k": 2})).json()

    assert body["query"] == QUESTION
    assert body["sources"][0]["source"] == "ra"
    assert "four steps" in body["sources"][0]["content"]
    assert body["citations"][0]["source_id"] == body["sources"][0]["id"]
    assert (body["rewritten_query"], body["metadata"]["status"]) == (body["query"], "answered")


async def test_each_question_of_a_batch_has_its_own_result_or_error(api, llm):
    llm.script(Reply(status=400))
    llm.default = Reply(texts=ANSWER)
    body = {"queries": [QUESTION, "What does a handover move?"], "strict": True}

    results = (await api.post("/api/v1/rag/batch", body)).json()["results"]

    assert [result["index"] for result in results] == [0, 1]
    assert sorted("error" in result for result in results) == [False, True]
    assert next(r for r in results if "error" in r)["error"]["code"] == "model_unavailable"


async def test_a_bad_question_of_a_batch_has_its_own_error(api):
    body = {"queries": ["", QUESTION, "q" * 2001, 7, "\u0000"], "rewrite_method": "none"}

    response = await api.post("/api/v1/rag/batch", body)

    results = response.json()["results"]
    assert response.status_code == 200
    assert "four steps" in results[1]["result"]["answer"]
    bad = [result["error"] for result in results if "error" in result]
    assert [result["index"] for result in results if "error" in result] == [0, 2, 3, 4]
    assert {error["code"] for error in bad} == {"invalid"}
    assert all(error["message"].startswith("The request is not valid. query: ") for error in bad)
    assert "2000" in bad[1]["message"]


async def test_models_are_the_sets_that_the_caller_may_read(api):
    body = (await api.get("/v1/models")).json()

    names = [model["id"] for model in body["data"]]
    assert [name for name in names if ":" not in name] == ["ragsite", "ragsite/radio"]


async def test_a_chat_completion_carries_its_sources(api, llm):
    llm.default = Reply(texts=ANSWER)
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Good morning."},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    ]

    body = (
        await api.post("/v1/chat/completions", {"model": "ragsite/radio", "messages": messages, "top_p": 1, "n": 1})
    ).json()

    message = body["choices"][0]["message"]
    assert message["content"] == "The random access procedure has four steps [1]."
    assert message["context"]["citations"][0]["external_id"] == "ra"
    assert body["usage"]["total_tokens"] == 20  # with those that understanding the question took
    assert [m["content"] for m in llm.requests[-1].body["messages"]][1:3] == ["Hello", "Good morning."]


async def test_a_chat_completion_can_be_streamed(api, llm):
    llm.default = Reply(texts=ANSWER)
    body = {
        "model": "ragsite",
        "messages": [{"role": "user", "content": QUESTION}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }

    events = await sse(await api.post("/v1/chat/completions", body))

    text = "".join(e["choices"][0]["delta"].get("content", "") for e in events if e["choices"])
    assert text == "The random access procedure has four steps [1]."
    assert [e["choices"][0]["finish_reason"] for e in events if e["choices"]][-1] == "stop"
    assert events[-1]["usage"]["completion_tokens"] == 3


async def test_an_unknown_model_is_404(api):
    body = {"model": "gpt-4", "messages": [{"role": "user", "content": QUESTION}]}

    assert (await api.post("/v1/chat/completions", body)).status_code == 404


@pytest.mark.full
async def test_a_hundred_answers_from_the_cache_need_one_from_the_model(api, llm):
    llm.default = Reply(texts=ANSWER)
    await api.generate(QUESTION)

    answers = await asyncio.gather(*(api.generate(QUESTION) for _ in range(100)))

    assert {answer["metadata"]["cache"] for answer in answers} == {"exact"}
    assert len(llm.requests) == 1
