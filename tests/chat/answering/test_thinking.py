"""What a model thinks before it writes: shown while the turn is under way, timed and counted, and kept nowhere."""

from __future__ import annotations

import pytest
from django.forms.models import model_to_dict
from django.test import Client
from django.urls import reverse

from chat.concurrency.executors import run_db
from chat.models import Message, MessageCitation
from tests.chat.conftest import sse
from tests.chat.sockets import Socket
from tests.scripted_llm import Reply

QUESTION = "How many steps does the random access procedure have?"
ANSWER = "The random access procedure has four steps [1]."
SECRET = "quetzal"  # what it thinks of, and says nowhere
FIELD = Reply(thoughts=(f"The {SECRET} ", "<b>source</b> [2] says four."), texts=(ANSWER,), usage=(20, 15))
TAGS = Reply(texts=("<thi", f"nk>The {SECRET}", " has [2].</thi", "nk>\n\n", ANSWER), usage=(20, 15))
UNCLOSED = Reply(texts=("<think>", f"The {SECRET} has", " four steps [1]"))
WAYS = pytest.mark.parametrize("reply", [FIELD, TAGS], ids=["field", "tags"])


async def stored_words() -> str:
    """Everything that the database has of the answers."""

    def read() -> str:
        rows = [*Message.objects.all(), *MessageCitation.objects.all()]
        return "".join(str(model_to_dict(row)) + str(row.__dict__) for row in rows)

    return await run_db(read)


@WAYS
async def test_the_answer_its_sources_and_its_record_have_nothing_of_it(api, llm, reply):
    llm.default = reply

    answer = await api.generate(QUESTION, rewrite_method="none")

    assert (answer["status"], answer["answer"]) == ("answered", ANSWER)
    assert [citation["citation_num"] for citation in answer["citations"]] == [1]
    assert SECRET not in str(answer)
    assert SECRET not in await stored_words()


@WAYS
async def test_a_kept_answer_has_neither_the_words_nor_the_time(api, llm, reply):
    llm.default = reply
    await api.generate(QUESTION, rewrite_method="none")

    kept = await api.generate(QUESTION, rewrite_method="none")

    assert kept["metadata"]["cache"] == "exact"
    assert SECRET not in str(kept)
    assert kept["metadata"]["thinking_time"] is None
    assert kept["metadata"]["usage"]["reasoning_tokens"] == 0


async def test_reasoning_that_never_ends_is_no_answer(api, llm):
    llm.default = UNCLOSED

    answer = await api.generate(QUESTION, rewrite_method="none")

    assert (answer["status"], answer["metadata"]["model"]) == ("degraded", "extractive")
    assert SECRET not in str(answer)
    assert SECRET not in await stored_words()


async def test_its_time_and_its_tokens_stand_apart(api, llm):
    llm.default = Reply(
        thoughts=("Well, ", "so."), texts=(ANSWER,), pause_seconds=0.05, usage=(20, 15), reasoning_tokens=9
    )

    metadata = (await api.generate(QUESTION, rewrite_method="none"))["metadata"]

    assert metadata["usage"]["reasoning_tokens"] == 9
    assert metadata["usage_by_purpose"]["writing"]["reasoning_tokens"] == 9
    assert metadata["usage"]["total_tokens"] == 35  # they are a part of the completion
    assert 0 < metadata["thinking_time"] <= metadata["generate_time"]


async def test_tokens_that_a_server_does_not_tell_apart_are_estimated(api, llm):
    llm.default = FIELD

    usage = (await api.generate(QUESTION, rewrite_method="none"))["metadata"]["usage"]

    assert 0 < usage["reasoning_tokens"] <= usage["completion_tokens"]


@pytest.mark.parametrize("way", [{"mode": "agentic"}, {"strategy": "self_rag"}], ids=str)
async def test_thinking_in_rounds_is_timed_and_shown_nowhere(api, llm, way):
    llm.default = Reply(thoughts=(f"The {SECRET}.", "So."), texts=(ANSWER,), pause_seconds=0.01)

    answer = await api.generate(QUESTION, rewrite_method="none", **way)

    assert answer["answer"] == ANSWER
    assert answer["metadata"]["thinking_time"] > 0
    assert SECRET not in str(answer)
    assert SECRET not in await stored_words()


async def test_without_thinking_nothing_is_said_of_it(api, llm):
    llm.default = Reply(texts=(ANSWER,))

    metadata = (await api.generate(QUESTION, rewrite_method="none"))["metadata"]

    assert metadata["thinking_time"] is None
    assert metadata["usage"]["reasoning_tokens"] == 0


@WAYS
async def test_clients_of_the_api_are_told_that_it_thinks_and_not_what(api, llm, reply):
    llm.default = reply

    events = await sse(await api.post("/api/v1/rag/generate/stream", {"query": QUESTION, "rewrite_method": "none"}))

    assert "think" in [event.get("name") for event in events if event["type"] == "step"]
    assert "".join(event["content"] for event in events if event["type"] == "chunk") == ANSWER
    assert SECRET not in str(events)


async def test_clients_of_openai_s_form_get_the_tokens_in_that_form(api, llm):
    llm.default = Reply(thoughts=(f"The {SECRET}.",), texts=(ANSWER,), usage=(20, 15), reasoning_tokens=9)
    body = {"model": "ragsite", "messages": [{"role": "user", "content": QUESTION}]}

    response = (await api.post("/v1/chat/completions", body)).json()

    assert response["choices"][0]["message"]["content"] == ANSWER
    assert response["usage"]["completion_tokens_details"]["reasoning_tokens"] >= 9
    assert "reasoning_tokens" not in response["usage"]
    assert SECRET not in str(response)


@WAYS
async def test_the_page_gets_it_while_the_turn_is_under_way_and_the_stored_turn_not(world, llm, reply):
    llm.default = reply
    socket = Socket(world.reader)
    await socket.connect()

    await socket.send(type="ask", question=QUESTION)
    events = await socket.until("done")
    await socket.disconnect()

    thoughts = [event["data"] for event in events if event["type"] == "thought"]
    assert SECRET in "".join(thought["content"] for thought in thoughts)
    assert thoughts[-1]["is_over"]
    assert all(thought["seconds"] >= 0 for thought in thoughts)
    others = [event for event in events if event["type"] != "thought"]
    assert SECRET not in str(others)
    kinds = [event["type"] for event in events]
    assert kinds.index("thought") < min(kinds.index("block"), kinds.index("tail"))
    assert SECRET not in await stored_words()


async def test_the_next_question_and_an_export_know_nothing_of_it(world, llm):
    llm.default = FIELD
    socket = Socket(world.reader)
    await socket.connect()
    await socket.send(type="ask", question=QUESTION)
    first = (await socket.until("done"))[0]
    llm.requests.clear()

    await socket.send(
        type="ask", question="And what is sent in the first of them?", conversation_id=first["conversation_id"]
    )
    await socket.until("done")
    await socket.disconnect()

    def exported() -> str:
        browser = Client()
        browser.force_login(world.reader)
        response = browser.get(reverse("chat:message_export", args=[first["message_id"]]), {"kind": "md"})
        return b"".join(response).decode()

    assert llm.requests
    assert SECRET not in str([request.body for request in llm.requests])
    text = await run_db(exported)
    assert "four steps" in text
    assert SECRET not in text
