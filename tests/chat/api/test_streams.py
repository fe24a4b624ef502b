"""Streamed answers over HTTP."""

import asyncio

from accounts.scope import Scope
from accounts.services import api_key_create
from chat.api.sse import generate_vocabulary
from chat.concurrency.executors import run_db
from chat.concurrency.redis_client import client, events_key
from chat.models import Message
from chat.types import Event
from knowledge.models import KnowledgeSet
from tests.chat.conftest import Api, sse
from tests.scripted_llm import Reply

QUESTION = "How many steps does the random access procedure have?"
ANSWER = ("The random access ", "procedure has four steps [Sou", "rce 1].")
STREAM = "/api/v1/rag/generate/stream"


def text_of(events):
    return "".join(event["content"] for event in events if event["type"] == "chunk")


async def test_a_stream_begins_with_context_and_ends_with_done(api, llm):
    llm.script(Reply(texts=ANSWER))

    response = await api.post(STREAM, {"query": QUESTION})
    events = await sse(response)

    assert response["Content-Type"] == "text/event-stream"
    assert events[0]["type"] == "context"
    assert events[0]["message_id"] == response["X-Message-Id"]
    assert events[0]["chunks_count"] >= 1
    assert [e["type"] for e in events[-2:]] == ["citations", "done"]
    assert text_of(events) == "The random access procedure has four steps [1]."
    assert events[-1]["status"] == "answered"
    assert [e["id"] for e in events] == sorted({e["id"] for e in events})
    assert {e["type"] for e in events} <= {"context", "step", "chunk", "citations", "done"}


async def test_a_reader_who_lost_the_connection_resumes_after_the_last_id(api, llm):
    llm.script(Reply(texts=("First. ", "Second. ", "Third [1]."), hold_before=1))
    response = await api.post(STREAM, {"query": QUESTION})
    seen = []
    async for line in response.streaming_content:
        seen.append(line.decode())
        if '"chunk"' in seen[-1]:
            break
    last_id = int(seen[-1].split("\n")[0].removeprefix("id: "))
    llm.release.set()

    resumed = await api.get(f"/api/v1/rag/streams/{response['X-Message-Id']}", **{"Last-Event-ID": str(last_id)})
    events = await sse(resumed)

    assert events[0]["id"] > last_id
    assert text_of(events).endswith("Third [1].")
    assert "First" not in text_of(events)
    assert events[-1]["type"] == "done"


async def test_the_steps_before_the_first_search_come_behind_the_context(api, llm):
    forms = '{"queries": ["steps of the random access procedure"]}'
    llm.script(Reply(texts=(forms,)), Reply(texts=ANSWER))

    events = await sse(await api.post(STREAM, {"query": QUESTION, "rewrite_method": "multi"}))

    steps = [event["name"] for event in events if event["type"] == "step"]
    assert events[0]["type"] == "context"
    assert steps.index("rewrite") < steps.index("search") < steps.index("write")
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))


async def test_whoever_resumes_after_any_event_gets_just_those_behind_it(api, llm):
    llm.script(Reply(texts=ANSWER))
    response = await api.post(STREAM, {"query": QUESTION, "mode": "agentic"})
    events = await sse(response)
    address = f"/api/v1/rag/streams/{response['X-Message-Id']}"

    for number, event in enumerate(events[:-1], 1):
        resumed = await sse(await api.get(address, **{"Last-Event-ID": str(event["id"])}))
        assert resumed == events[number:]


async def test_whoever_resumes_behind_the_end_gets_the_end(api, llm):
    llm.script(Reply(texts=ANSWER))
    response = await api.post(STREAM, {"query": QUESTION})
    events = await sse(response)

    late = await sse(await api.get(f"/api/v1/rag/streams/{response['X-Message-Id']}", **{"Last-Event-ID": "999"}))

    assert late == events[-1:]


NOBODY = Scope(tenant_id=0, user_id=0, clearance=0)


async def test_without_markers_no_piece_is_empty():
    vocabulary = generate_vocabulary(include_inline=False, include_citations=True, scope=NOBODY)

    pieces = [
        data["content"]
        for number, content in enumerate(["Four steps", " [1]", " and [2] more", "[3]"], 1)
        async for data in vocabulary(Event(sequence=number, type="chunk", data={"content": content}))
    ]

    assert pieces == ["Four steps", " and more"]


async def test_the_stored_message_serves_when_the_stream_has_expired(api, llm, redis_client):
    llm.script(Reply(texts=ANSWER))
    response = await api.post(STREAM, {"query": QUESTION})
    events = await sse(response)
    redis_client.delete(events_key(response["X-Message-Id"]))

    again = await sse(await api.get(f"/api/v1/rag/streams/{response['X-Message-Id']}"))
    rest = await sse(await api.get(f"/api/v1/rag/streams/{response['X-Message-Id']}", **{"Last-Event-ID": "2"}))

    assert text_of(again) == text_of(events)
    assert again[-1]["type"] == rest[-1]["type"] == "done"
    assert text_of(rest) == ""
    assert rest[-1]["answer"] == text_of(events)


async def test_a_stream_whose_model_is_down_goes_on_with_the_sources(api, llm):
    llm.default = Reply(status=500)

    events = await sse(await api.post(STREAM, {"query": QUESTION}))

    assert "four steps" in text_of(events)
    assert [e["name"] for e in events if e["type"] == "step"][-1] == "degraded"
    assert (events[-1]["type"], events[-1]["status"]) == ("done", "degraded")


async def test_a_strict_stream_ends_with_an_error_event(api, llm):
    llm.default = Reply(status=500)

    events = await sse(await api.post(STREAM, {"query": QUESTION, "strict": True}))

    assert (events[-1]["type"], events[-1]["code"]) == ("error", "model_unavailable")


async def test_what_fails_before_the_first_event_has_its_http_status(api):
    graph = await api.post(STREAM, {"query": QUESTION, "retrieval_mode": "graph"})
    unknown = await api.post(STREAM, {"query": QUESTION, "sets": [999999]})

    assert (graph.status_code, graph.json()["error"]["code"]) == (422, "graph_not_built")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "not_found")


async def test_strangers_cannot_read_a_stream(api, world, llm):
    response = await api.post(STREAM, {"query": QUESTION})
    await sse(response)
    _, key = await run_db(api_key_create, user=world.owner, name="x")

    stolen = await Api(key).get(f"/api/v1/rag/streams/{response['X-Message-Id']}")

    assert stolen.status_code == 404


async def test_a_reader_who_leaves_does_not_end_the_turn(api, llm):
    llm.script(Reply(texts=ANSWER, hold_before=1))
    response = await api.post(STREAM, {"query": QUESTION})
    await response.streaming_content.aclose()
    llm.release.set()

    events = await sse(await api.get(f"/api/v1/rag/streams/{response['X-Message-Id']}"))

    assert events[-1]["type"] == "done"
    message = await run_db(Message.objects.get, pk=response["X-Message-Id"])
    assert message.state == Message.State.DONE


async def test_many_streams_run_at_once(api, llm):
    llm.default = Reply(texts=ANSWER)

    responses = await asyncio.gather(*(api.post(STREAM, {"query": f"{QUESTION} {n}"}) for n in range(20)))
    results = await asyncio.gather(*map(sse, responses))

    assert {events[-1]["type"] for events in results} == {"done"}


async def test_the_second_form_has_its_own_vocabulary(api, llm):
    llm.script(Reply(texts=ANSWER))

    events = await sse(await api.post("/api/v1/rag/query-stream", {"query": QUESTION}))

    kinds = list(dict.fromkeys(event["type"] for event in events))
    assert kinds == ["query_rewritten", "documents_retrieved", "generation_start", "token", "generation_complete"]
    assert events[-1]["sources"][0]["source"] == "ra"
    assert events[-1]["citations"][0]["citation_num"] == 1


async def test_both_ways_of_the_second_form_report_the_same_and_no_id_comes_twice(api, llm):
    llm.default = Reply(texts=ANSWER)

    whole = (await api.post("/api/v1/rag/query", {"query": QUESTION})).json()
    events = await sse(await api.post("/api/v1/rag/query-stream", {"query": QUESTION}))

    by_type = {event["type"]: event for event in events}
    assert by_type["query_rewritten"]["content"] == whole["rewritten_query"]
    assert by_type["documents_retrieved"]["count"] == whole["retrieved_count"] == len(whole["sources"])
    assert by_type["generation_complete"]["sources"] == whole["sources"]
    assert by_type["generation_complete"]["citations"] == whole["citations"]
    ids = [event["id"] for event in events if "id" in event]
    assert ids == sorted(set(ids))


async def test_sources_are_withheld_from_who_lost_the_right_to_them(api, world, llm):
    llm.script(Reply(texts=ANSWER))
    response = await api.post(STREAM, {"query": QUESTION})
    (given,) = citations_of(await sse(response))
    await run_db(KnowledgeSet.objects.update, visibility="members")

    address = f"/api/v1/rag/streams/{response['X-Message-Id']}"
    (running,) = citations_of(await sse(await api.get(address)))
    await client().delete(events_key(response["X-Message-Id"]))
    (stored,) = citations_of(await sse(await api.get(address)))

    assert (given["title"], given["external_id"]) == ("ra", "ra")
    for citation in (running, stored):
        assert {citation[name] for name in ("title", "external_id", "content", "page")} == {"", None}
        assert citation["citation_num"] == 1


def citations_of(events):
    (found,) = [event["citations"] for event in events if event["type"] == "citations"]
    return found
