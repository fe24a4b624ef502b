"""The OpenAI-compatible calls, asked by OpenAI's own client over real HTTP."""

from __future__ import annotations

from contextlib import asynccontextmanager

import openai
import pytest

from chat.concurrency.executors import run_db
from chat.models import Message
from knowledge import model_registry
from ragcore.client_registry import tls_context
from tests.chat.test_asgi import serving
from tests.scripted_llm import Reply

QUESTION = "How many steps does the random access procedure have?"
ANSWER = "The random access procedure has four steps [1]."
ASKED = [{"role": "user", "content": QUESTION}]


@pytest.fixture
def client(world, llm, monkeypatch):
    """OpenAI's client with the reader's key, connected to the whole site."""
    monkeypatch.setattr(model_registry, "warm", lambda: None)
    llm.default = Reply(texts=("The random access ", "procedure has four steps [1]."))

    @asynccontextmanager
    async def connected(**values):
        async with (
            serving() as address,
            openai.DefaultAsyncHttpxClient(verify=tls_context()) as http,
            openai.AsyncOpenAI(
                base_url=f"http://{address}/v1",
                api_key=world.key,
                max_retries=0,
                timeout=60,
                http_client=http,
                **values,
            ) as made,
        ):
            yield made

    return connected


async def test_it_answers_with_its_sources(client, world):
    async with client() as openai_client:
        answer = await openai_client.chat.completions.create(model="ragsite", messages=ASKED, n=1, stop=None)

    assert answer.choices[0].message.content == ANSWER
    assert answer.choices[0].finish_reason == "stop"
    assert answer.choices[0].message.context["citations"][0]["external_id"] == "ra"
    assert answer.choices[0].message.context["unused_options"] == []
    assert answer.usage.total_tokens > 0


async def test_it_streams_and_tells_usage_where_it_was_asked_for(client):
    async def chunks_of(openai_client, **values):
        stream = await openai_client.chat.completions.create(model="ragsite", messages=ASKED, stream=True, **values)
        return [chunk async for chunk in stream]

    async with client() as openai_client:
        counted = await chunks_of(openai_client, stream_options={"include_usage": True})
        plain = await chunks_of(openai_client)

    for chunks in (plain, counted):
        assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == ANSWER
        assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert all(chunk.choices and chunk.usage is None for chunk in plain)
    assert (counted[-1].choices, counted[-1].usage.completion_tokens) == ([], 3)
    assert all(chunk.usage is None for chunk in counted[:-1])


@pytest.mark.parametrize("name", ["ragsite", "ragsite:agentic"])
async def test_an_answer_that_reached_its_limit_says_so(client, llm, name):
    llm.default = Reply(texts=("The random access procedure has four", " steps [1]"), finish_reason="length")

    async with client() as openai_client:
        answer = await openai_client.chat.completions.create(model=name, messages=ASKED)
        chunks = [
            chunk
            async for chunk in await openai_client.chat.completions.create(model=name, messages=ASKED, stream=True)
        ]

    assert answer.choices[0].finish_reason == "length"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "length"


async def test_models_are_the_sets_and_the_manners_of_answering(client):
    async with client() as openai_client:
        names = [model.id async for model in openai_client.models.list()]
        one = await openai_client.models.retrieve("ragsite/radio:fast")
        with pytest.raises(openai.NotFoundError):
            await openai_client.models.retrieve("ragsite/nothing")

    assert {"ragsite", "ragsite/radio", "ragsite:agentic", "ragsite:ultimate", "ragsite:accurate", "ragsite:cheap"} <= (
        set(names)
    )
    assert one.id == "ragsite/radio:fast"


@pytest.mark.parametrize(
    ("model", "option", "value"),
    [("ragsite:agentic", "mode", "agentic"), ("ragsite/radio:fast", "preset", "fast"), ("ragsite/radio", "mode", None)],
)
async def test_a_model_says_how_and_where(client, world, model, option, value):
    async with client() as openai_client:
        answer = await openai_client.chat.completions.create(model=model, messages=ASKED)

    message_id = answer.choices[0].message.context["message_id"]
    request = (await run_db(Message.objects.get, pk=message_id)).request
    assert request[option] == value
    assert request["sets"] == ([world.knowledge_set.pk] if "/" in model else [])


async def test_an_unknown_model_is_an_error_of_the_client(client):
    async with client() as openai_client:
        for model in ("gpt-4", "ragsite/nothing", "ragsite/", "ragsite:genius", "ragsite:"):
            with pytest.raises(openai.NotFoundError) as error:
                await openai_client.chat.completions.create(model=model, messages=ASKED)

            assert error.value.body["type"] == "invalid_request_error", model


async def test_temperature_and_length_reach_the_model_as_sent(client, llm):
    async with client() as openai_client:
        await openai_client.chat.completions.create(model="ragsite", messages=ASKED, temperature=1.5, max_tokens=4096)
        await openai_client.chat.completions.create(
            model="ragsite", messages=ASKED, max_completion_tokens=77, max_tokens=99, extra_body={"seed": 1}
        )

    sent = [request.body for request in llm.requests if request.body.get("stream") or "max_tokens" in request.body]
    assert (4096, 1.5) in [(body.get("max_tokens"), body.get("temperature")) for body in sent]
    assert 77 in [body.get("max_tokens") for body in sent]


REFUSED = {
    "too long": {"max_tokens": 4097},
    "too long as well": {"max_completion_tokens": 100_000},
    "none": {"max_tokens": 0},
    "too hot": {"temperature": 2.1},
    "several": {"n": 2},
    "too many texts to stop at": {"stop": ["a", "b", "c", "d", "e"]},
    "nothing to stop at": {"stop": [""]},
    "functions": {"functions": [{"name": "f", "parameters": {}}]},
    "probabilities": {"logprobs": True},
    "more probabilities": {"top_logprobs": 5},
    "biases": {"logit_bias": {"50256": -100}},
    "sound": {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}},
    "the web": {"web_search_options": {}},
    "options of a stream": {"stream_options": {"include_usage": True}},
    "what nobody knows": {"extra_body": {"top_k": 5}},
}


async def test_what_it_cannot_do_is_refused_and_named(client, llm):
    async with client() as openai_client:
        for kind, values in REFUSED.items():
            with pytest.raises(openai.UnprocessableEntityError) as error:
                await openai_client.chat.completions.create(model="ragsite", messages=ASKED, **values)

            name = next(iter(values.get("extra_body", values)))
            assert name in error.value.body["message"], kind
            assert (error.value.code, error.value.type) == ("invalid", "invalid_request_error"), kind
            assert not llm.requests, kind


async def test_a_part_that_would_have_to_be_seen_or_heard_is_refused_in_words(client):
    parts = (
        ({"type": "image_url", "image_url": {"url": "https://elsewhere.example/x.png"}}, "pictures are not read"),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, "sound is not heard"),
        ({"type": "file", "file": {"file_id": "x"}}, "/api/v1/rag/attachments"),
    )
    async with client() as openai_client:
        for part, words in parts:
            messages = [{"role": "user", "content": [{"type": "text", "text": QUESTION}, part]}]
            with pytest.raises(openai.UnprocessableEntityError) as error:
                await openai_client.chat.completions.create(model="ragsite", messages=messages)

            assert words in error.value.body["message"]
            assert error.value.body["param"] == "messages.0.content.1.type"


async def test_an_answer_ends_before_the_first_text_to_stop_at(client):
    ends = {"procedure": "The random access ", ("[9]", "four"): "The random access procedure has "}
    async with client() as openai_client:
        for stop, text in (*ends.items(), ((" proc", "has"), "The random access")):
            asked = {"model": "ragsite", "messages": ASKED, "stop": stop if isinstance(stop, str) else list(stop)}
            answer = await openai_client.chat.completions.create(**asked)
            chunks = [chunk async for chunk in await openai_client.chat.completions.create(**asked, stream=True)]

            assert answer.choices[0].message.content == text
            assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == text
            assert (answer.choices[0].finish_reason, chunks[-1].choices[0].finish_reason) == ("stop", "stop")


async def test_the_question_in_a_long_prompt_of_a_program_is_what_is_asked(client):
    passages = "Some text that the program has found by itself. Is it of use? " * 500
    prompt = f"Use the context.\n<context>\n{passages}\n</context>\n<user_query>\n{QUESTION}\n</user_query>"
    async with client() as openai_client:
        answer = await openai_client.chat.completions.create(
            model="ragsite", messages=[{"role": "user", "content": prompt}]
        )

    assert answer.choices[0].message.content == ANSWER
    assert answer.choices[0].message.context["question"] == QUESTION
    assert answer.choices[0].message.context["citations"][0]["external_id"] == "ra"


async def test_what_only_colours_the_wording_is_named_as_unused(client):
    neutral = {"top_p": 1, "presence_penalty": 0, "frequency_penalty": 0.0, "metadata": {}, "parallel_tool_calls": True}
    other = {"top_p": 0.5, "presence_penalty": 1, "seed": 7, "user": "me"}
    async with client() as openai_client:
        first = await openai_client.chat.completions.create(model="ragsite", messages=ASKED, **neutral)
        second = await openai_client.chat.completions.create(model="ragsite", messages=ASKED, **other)

    assert first.choices[0].message.context["unused_options"] == []
    assert second.choices[0].message.context["unused_options"] == ["top_p", "presence_penalty", "seed", "user"]


async def test_what_asks_for_nothing_is_taken(client):
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    async with client() as openai_client:
        answer = await openai_client.chat.completions.create(
            model="ragsite",
            messages=ASKED,
            response_format={"type": "text"},
            tools=tools,
            tool_choice="none",
            logprobs=False,
            modalities=["text"],
        )

    assert answer.choices[0].message.content == ANSWER


async def test_a_conversation_with_the_answers_that_it_gave_goes_on(client, llm):
    async with client() as openai_client:
        first = await openai_client.chat.completions.create(model="ragsite", messages=ASKED)
        said = first.choices[0].message.model_dump()
        messages = [*ASKED, said, {"role": "user", "content": "And what is a handover?"}]
        second = await openai_client.chat.completions.create(model="ragsite", messages=messages)

    assert second.choices[0].message.content
    sent = [m["content"] for request in llm.requests for m in request.body["messages"] if m["role"] == "assistant"]
    assert any("four steps" in content for content in sent)


async def test_a_wrong_key_and_too_many_questions_are_the_errors_that_the_client_knows(client, settings):
    settings.QUESTIONS_PER_MINUTE = 1
    async with client() as openai_client:
        stranger = openai_client.with_options(api_key="rs_wrong")
        with pytest.raises(openai.AuthenticationError):
            await stranger.models.list()
        await openai_client.chat.completions.create(model="ragsite", messages=ASKED)
        with pytest.raises(openai.RateLimitError) as error:
            await openai_client.chat.completions.create(model="ragsite", messages=ASKED, stream=True)

    assert int(error.value.response.headers["Retry-After"]) > 50
    assert error.value.type == "rate_limit_error"
