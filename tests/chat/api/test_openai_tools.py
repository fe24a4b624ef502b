"""Tools and forms of other programs, by OpenAI's own client over real HTTP and a scripted language model."""

from __future__ import annotations

import json

import openai
import pytest
from pydantic import BaseModel

from chat.concurrency.executors import run_db
from chat.models import Message
from knowledge import model_registry
from tests.chat.api.test_openai import ASKED, QUESTION, client  # noqa: F401 (a fixture)
from tests.ragcore.llm.test_servers_as_they_are import chunk, events_of
from tests.scripted_llm import Reply

WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
CALL = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": ""}}
PARTS = [{"index": 0, "function": {"arguments": '{"pla'}}, {"index": 0, "function": {"arguments": 'ce": "Bonn"}'}}]
CALLING = Reply(body=events_of(*(chunk(None, tool_calls=[part]) for part in (CALL, *PARTS)), chunk(None, "tool_calls")))


class Steps(BaseModel):
    steps: int


async def test_the_model_gets_the_passages_and_may_call_a_tool(client, llm):  # noqa: F811
    llm.default = CALLING
    async with client() as openai_client:
        answer = await openai_client.chat.completions.create(model="ragsite", messages=ASKED, tools=[WEATHER])
        stream = await openai_client.chat.completions.create(
            model="ragsite", messages=ASKED, tools=[WEATHER], tool_choice="required", stream=True
        )
        chunks = [each async for each in stream]

    [call] = answer.choices[0].message.tool_calls
    assert (call.id, call.function.name, json.loads(call.function.arguments)) == (
        "call_1",
        "weather",
        {"place": "Bonn"},
    )
    assert answer.choices[0].finish_reason == chunks[-1].choices[0].finish_reason == "tool_calls"
    [streamed] = [each.choices[0].delta.tool_calls for each in chunks if each.choices[0].delta.tool_calls]
    assert (streamed[0].function.name, streamed[0].function.arguments) == ("weather", call.function.arguments)
    sent = llm.requests[-1].body
    assert sent["tools"] == [WEATHER]
    assert sent["tool_choice"] == "required"
    assert "four steps" in sent["messages"][0]["content"]
    assert sent["messages"][-1] == ASKED[0]


async def test_after_the_result_of_a_tool_it_answers_with_sources(client, llm):  # noqa: F811
    llm.default = Reply(texts=("It has four steps [1]", ", and the sun shines."))
    calls = [{"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]
    messages = [
        {"role": "system", "content": "Be brief."},
        *ASKED,
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
    ]
    async with client() as openai_client:
        answer = await openai_client.chat.completions.create(model="ragsite", messages=messages, tools=[WEATHER])

    assert answer.choices[0].message.content == "It has four steps [1], and the sun shines."
    assert answer.choices[0].message.context["citations"][0]["external_id"] == "ra"
    assert answer.choices[0].message.context["question"] == QUESTION
    _ours, *others = llm.requests[-1].body["messages"]
    assert others == [messages[0], messages[1], {**messages[2], "content": ""}, messages[3]]
    stored = await run_db(Message.objects.get, pk=answer.choices[0].message.context["message_id"])
    assert (stored.question, stored.metadata["usage"]["total_tokens"]) == (QUESTION, 10)


async def test_a_form_is_followed(client, llm):  # noqa: F811
    llm.default = Reply(texts=('{"steps"', ": 4}"))
    async with client() as openai_client:
        answer = await openai_client.chat.completions.parse(model="ragsite", messages=ASKED, response_format=Steps)

    assert answer.choices[0].message.parsed == Steps(steps=4)
    assert llm.requests[-1].body["response_format"]["json_schema"]["name"] == "Steps"


FAILURES = (
    (Reply(texts=("four",)), {"response_format": {"type": "json_object"}}, "did not keep to the form"),
    (Reply(texts=("four",)), {"tools": [WEATHER], "tool_choice": "required"}, "called no tool"),
    (Reply(texts=("fo", "ur"), cut_after=1), {"tools": [WEATHER]}, "stopped in the middle"),
    (Reply(status=400), {"tools": [WEATHER]}, "HTTP 400"),
)


async def test_a_model_that_does_not_do_it_is_an_error_in_words(client, llm):  # noqa: F811
    async with client() as openai_client:
        for reply, values, words in FAILURES:
            llm.default = reply
            with pytest.raises(openai.InternalServerError) as error:
                await openai_client.chat.completions.create(model="ragsite", messages=ASKED, **values)

            assert words in error.value.body["message"]


async def test_without_a_language_model_the_field_is_named(client, monkeypatch):  # noqa: F811
    monkeypatch.setattr(model_registry, "chat_model", lambda: None)
    async with client() as openai_client:
        with pytest.raises(openai.UnprocessableEntityError) as error:
            await openai_client.chat.completions.create(model="ragsite", messages=ASKED, tools=[WEATHER])

    assert "tools: a language model has to follow it" in error.value.body["message"]


UNFIT = (
    {"tool_choice": "required"},
    {"tools": [{"type": "function", "function": {"name": "not a name"}}]},
    {"tools": [WEATHER], "tool_choice": "perhaps"},
    {"response_format": {"type": "xml"}},
    {"messages": [*ASKED, {"role": "assistant", "content": "Four."}]},
)


async def test_what_does_not_fit_together_is_refused(client, llm):  # noqa: F811
    async with client() as openai_client:
        for values in UNFIT:
            with pytest.raises(openai.UnprocessableEntityError):
                await openai_client.chat.completions.create(**{"model": "ragsite", "messages": ASKED, **values})

    assert not llm.requests
