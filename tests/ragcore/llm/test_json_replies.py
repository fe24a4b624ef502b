"""JSON as a model's profile says: how it is asked for, asked for again, and by whom it is not asked for at all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import Field
from pydantic.dataclasses import dataclass as validated

from ragcore.llm.balanced import BalancedChatModel
from ragcore.llm.client import LlmClient
from ragcore.llm.guarded import GuardedChatModel
from ragcore.llm.model_profile import ModelProfile
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.llm.request_fields import RESPONSE_FORMAT, strict_schema
from tests.scripted_llm import Reply

PROMPT = "refine_hop"
VALUES = {"question": "How many steps?", "context": "Four."}
GOOD = Reply(texts=('{"query": "steps"}',))
THINKING = ("chat_template_kwargs", "reasoning_effort")


@validated(frozen=True, slots=True, kw_only=True)
class Part:
    title: str = ""


@validated(frozen=True, slots=True, kw_only=True)
class Shape:
    query: str = Field(max_length=40)
    parts: list[Part] = Field(default_factory=list)


class Record:
    """Never refuses, and notes nothing."""

    failures = 0

    def refusal(self):
        return None

    def note_success(self, reported=""):
        pass

    def note_failure(self, error):
        self.failures += 1


def client_of(llm, **profile):
    async def at_once(seconds):
        return None

    servers = [OpenAIChatModel(llm.url, "", "m", sleep=at_once) for _ in range(1)]
    return LlmClient(GuardedChatModel(BalancedChatModel(servers), Record(), ModelProfile(**profile)))


def ask(client, prompt=PROMPT):
    return client.json(prompt, Shape, **VALUES)


def formats(llm):
    return [request.body.get(RESPONSE_FORMAT, {}).get("type") for request in llm.requests]


@pytest.mark.parametrize(
    ("way", "kind"), [("schema", "json_schema"), ("object", "json_object"), ("asked", None)], ids=str
)
async def test_json_is_asked_for_in_the_way_of_the_profile(llm, way, kind):
    llm.default = GOOD

    reply = await ask(client_of(llm, json=way))

    assert reply is not None
    assert reply.query == "steps"
    assert formats(llm) == [kind]


async def test_the_schema_is_that_of_the_caller(llm):
    llm.default = GOOD

    await ask(client_of(llm, json="schema"))

    form = llm.requests[0].body[RESPONSE_FORMAT]["json_schema"]
    assert (form["name"], form["strict"]) == (PROMPT, True)
    assert form["schema"]["required"] == ["query", "parts"]
    assert form["schema"]["additionalProperties"] is False
    assert form["schema"]["$defs"]["Part"]["required"] == ["title"]


def test_a_property_may_be_named_like_a_word_of_a_schema():
    schema = {"type": "object", "properties": {"title": {"type": "string", "title": "Title"}, "default": {}}}

    assert strict_schema(schema)["properties"] == {"title": {"type": "string"}, "default": {}}


async def test_what_is_no_object_is_asked_for_in_words(llm):
    llm.default = Reply(texts=("[1, 2]",))

    assert await client_of(llm, json="schema").json(PROMPT, list[int], **VALUES) == [1, 2]
    assert formats(llm) == [None]


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ("I would look for the steps.", "no complete JSON object"),
        ('{"query": 5}', "query: Input should be a valid string"),
        ('{"parts": []}', "query: Field required"),
    ],
)
async def test_a_reply_of_another_form_is_asked_for_again_with_what_was_wrong(llm, reply, fault):
    llm.script(Reply(texts=(reply,)), GOOD)
    client = client_of(llm, json="schema")

    answer = await ask(client)

    assert answer is not None
    assert answer.query == "steps"
    first, second = (request.body for request in llm.requests)
    assert second["messages"][0] == first["messages"][0]
    assert second["messages"][1] == {"role": "assistant", "content": reply}
    assert fault in second["messages"][2]["content"]
    assert second[RESPONSE_FORMAT] == first[RESPONSE_FORMAT]
    assert (client.counts["repeated"], client.counts["invalid"]) == (1, 0)
    assert client.usage.total_tokens == 20  # both requests count


async def test_it_is_asked_again_once_and_then_it_is_invalid(llm):
    llm.default = Reply(texts=("no JSON",))
    client = client_of(llm)

    assert await ask(client) is None
    assert (len(llm.requests), client.counts["repeated"], client.counts["invalid"]) == (2, 1, 1)


@pytest.mark.parametrize("reply", [Reply(texts=("",)), Reply(status=500)], ids=["empty", "failed"])
async def test_without_a_reply_nothing_is_asked_again(llm, reply):
    llm.default = reply
    client = client_of(llm)

    assert await ask(client) is None
    assert client.counts["repeated"] == 0


async def test_without_seconds_left_it_is_not_asked_again(llm):
    llm.default = Reply(texts=("no JSON",))
    client = client_of(llm)
    client.seconds_left = lambda: 0.5 if llm.requests else 10.0

    assert await ask(client) is None
    assert (len(llm.requests), client.counts["invalid"]) == (1, 1)


async def test_at_a_limit_it_is_not_asked_again(llm):
    llm.default = Reply(texts=("no JSON",))
    client = client_of(llm)
    client.limits.append(lambda: not llm.requests)

    assert await ask(client) is None
    assert len(llm.requests) == 1


@pytest.mark.parametrize(
    "refusal", ["unknown field response_format", "invalid request"], ids=["that names it", "without a name"]
)
async def test_a_server_that_refuses_the_form_is_asked_in_words_from_then_on(llm, refusal):
    def respond(request):
        return Reply(status=400, failure={"error": {"message": refusal}}) if RESPONSE_FORMAT in request.body else GOOD

    llm.respond = respond
    client = client_of(llm, json="schema")

    assert await ask(client) is not None
    assert await ask(replace(client, seconds=5.0)) is not None

    assert formats(llm) == ["json_schema", None, None]
    assert client.counts["unavailable"] == 0


async def test_what_is_wrong_with_the_prompt_is_not_blamed_on_the_form(llm):
    llm.script(Reply(status=400), Reply(status=400))
    client = client_of(llm, json="object")

    assert await ask(client) is None
    llm.default = GOOD
    await ask(client)

    assert formats(llm) == ["json_object", None, "json_object"]


async def test_a_server_that_fails_is_not_asked_without_the_form(llm):
    llm.default = Reply(status=500)
    client = client_of(llm, json="object")

    assert await ask(client) is None

    assert set(formats(llm)) == {"json_object"}
    assert client.counts["unavailable"] == 1


async def test_a_model_that_writes_no_json_is_not_asked_for_it(llm):
    client = client_of(llm, json="none")

    assert await ask(client) is None
    assert (llm.requests, client.counts["unfit"]) == ([], 1)
    assert await client.text(PROMPT, **VALUES) == "ok"


@pytest.mark.parametrize(("prompt", "asked"), [("judge_retrieval", 0), (PROMPT, 1)], ids=str)
async def test_a_model_that_cannot_judge_gives_no_grades(llm, prompt, asked):
    llm.default = GOOD
    client = client_of(llm, judges=False)

    reply = await ask(client, prompt)

    assert (len(llm.requests), reply is not None) == (asked, bool(asked))
    assert client.counts["unfit"] == 1 - asked


# ── thinking ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("thinks", [True, False])
async def test_a_model_that_thinks_answers_short_requests_at_once(llm, thinks):
    client = client_of(llm, thinks=thinks)

    await client.text(PROMPT, **VALUES)

    body = llm.requests[0].body
    assert [name in body for name in THINKING] == [thinks, thinks]
    if thinks:
        assert body["chat_template_kwargs"] == {"enable_thinking": False}
        assert body["reasoning_effort"] == "low"


async def test_only_the_field_that_a_server_names_is_left_out(llm):
    unknown = {"error": {"message": "Unrecognized request argument supplied: chat_template_kwargs"}}
    llm.script(Reply(status=400, failure=unknown), GOOD, GOOD)
    client = client_of(llm, thinks=True, json="object")

    assert await ask(client) is not None
    assert await ask(client) is not None

    sent = [sorted({*THINKING, RESPONSE_FORMAT} & set(request.body)) for request in llm.requests]
    assert sent == [sorted([*THINKING, RESPONSE_FORMAT]), *[["reasoning_effort", RESPONSE_FORMAT]] * 2]
