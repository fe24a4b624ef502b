"""What real servers do with a request that they do not take as it is, in the forms in which they say it."""

import json

import httpx
import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.llm.refused_fields import field_key, is_context_overflow, refused_field, without_fields
from ragcore.llm.server_address import server_address
from tests.contracts.chat_model import MESSAGES, collect
from tests.scripted_llm import Reply


def openai_error(message, *, param=None, code=None):
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def extra_forbidden(name):
    """As vLLM says it: a list of pydantic as text, with the value."""
    told = [{"type": "extra_forbidden", "loc": ("body", name), "msg": "Extra inputs are not permitted", "input": 1}]
    return {"object": "error", "message": str(told), "type": "BadRequestError", "param": None, "code": 400}


LIMIT_UNSUPPORTED = openai_error(
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    param="max_tokens",
    code="unsupported_parameter",
)
TEMPERATURE_UNSUPPORTED = openai_error(
    "Unsupported value: 'temperature' does not support 0.3 with this model. Only the default (1) value is supported.",
    param="temperature",
    code="unsupported_value",
)
TOO_LARGE = openai_error(
    "max_tokens is too large: 50. This model supports at most 20 completion tokens, whereas you provided 50.",
    param="max_tokens",
)
FIELDS = {
    "response_format": {"type": "json_schema", "json_schema": {"name": "unit"}},
    "chat_template_kwargs": {"enable_thinking": False},
    "reasoning_effort": "low",
}
REFUSALS = [
    ("openai", 400, LIMIT_UNSUPPORTED, "max_tokens"),
    ("openai", 400, TEMPERATURE_UNSUPPORTED, "temperature"),
    (
        "azure",
        400,
        {"error": {"message": "Unrecognized request argument supplied: stream_options", "code": None, "param": ""}},
        "stream_options",
    ),
    ("vllm", 400, extra_forbidden("chat_template_kwargs"), "chat_template_kwargs"),
    (
        "fastapi",
        422,
        {
            "detail": [
                {"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "no", "input": {"temperature": 1}}
            ]
        },
        "stream_options",
    ),
    ("lmstudio", 400, {"error": "'response_format.type' must be 'json_object' or 'text'"}, "response_format"),
    ("deepseek", 400, openai_error("This response_format type is unavailable now"), "response_format"),
    (
        "ollama",
        400,
        openai_error("json: cannot unmarshal string into Go struct field ChatCompletionRequest.reasoning_effort"),
        "reasoning_effort",
    ),
    (
        "tgi",
        422,
        b"Failed to deserialize the JSON body into the target type: response_format: unknown variant `json_schema`",
        "response_format",
    ),
    (
        "llama.cpp",
        400,
        {"error": {"code": 400, "message": "chat_template_kwargs: unknown value", "type": "invalid_request_error"}},
        "chat_template_kwargs",
    ),
    (
        "openrouter",
        400,
        {"error": {"message": "Provider returned error", "metadata": {"raw": "unknown argument: reasoning_effort"}}},
        "reasoning_effort",
    ),
]


@pytest.fixture
def chat(llm, waits):
    async def sleep(seconds):
        waits.append(seconds)

    return OpenAIChatModel(llm.url, "key-1", "m", sleep=sleep).with_fields(FIELDS)


async def ask(chat, max_tokens=50):
    return await collect(chat.stream(MESSAGES, temperature=0.3, max_tokens=max_tokens))


def text_of(events):
    return "".join(event.text for event in events)


@pytest.mark.parametrize(("server", "status", "failure", "name"), REFUSALS, ids=lambda value: str(value)[:20])
async def test_a_field_that_a_server_does_not_take_is_left_out_at_once_and_from_then_on(
    chat, llm, waits, server, status, failure, name
):
    llm.script(Reply(status=status, failure=failure))

    assert text_of(await ask(chat)) == "ok"
    assert text_of(await ask(chat.with_short_retries())) == "ok"

    first, *others = (request.body for request in llm.requests)
    assert name in first
    assert len(others) == 2  # nothing was refused a second time
    assert all(name not in body and {*body, name} >= {*first} for body in others)
    assert waits == []
    assert chat.left_out == (field_key(name, first[name]),)


async def test_the_limit_of_tokens_goes_by_its_new_name(chat, llm):
    llm.script(Reply(status=400, failure=LIMIT_UNSUPPORTED), Reply(status=400, failure=TEMPERATURE_UNSUPPORTED))

    await ask(chat)

    sent = llm.requests[-1].body
    assert sent["max_completion_tokens"] == 50
    assert not {"max_tokens", "temperature"} & set(sent)
    assert chat.left_out == ("max_tokens", "temperature")


async def test_a_limit_that_is_only_too_large_is_sent_again_with_the_next_request(chat, llm):
    llm.script(Reply(status=400, failure=TOO_LARGE))

    await ask(chat)
    await ask(chat, max_tokens=10)

    assert [body.get("max_tokens") for body in (request.body for request in llm.requests)] == [50, None, 10]
    assert chat.left_out == ()


async def test_a_server_that_refuses_everything_is_asked_once_for_each_field(chat, llm):
    def refuse(request):
        names = [name for name in request.body if name not in ("model", "messages", "stream")]
        told = f"Unknown parameter: {names[0]}" if names else "Unknown parameter: model, messages, stream"
        return Reply(status=400, failure=openai_error(told))

    llm.respond = refuse

    with pytest.raises(ModelUnavailableError) as caught:
        await ask(chat)

    assert caught.value.reason == "rejected_said"
    assert (
        len(llm.requests) == len({"temperature", "max_tokens", "max_completion_tokens", "stream_options", *FIELDS}) + 1
    )
    assert set(llm.requests[-1].body) == {"model", "messages", "stream"}
    assert chat.left_out == ()  # what did not help is sent again


async def test_one_choice_that_is_refused_does_not_keep_another_from_being_sent(llm):
    chat = OpenAIChatModel(llm.url, "", "m")
    llm.script(Reply(status=400, failure={"error": "'response_format.type' must be 'json_object' or 'text'"}))
    await ask(chat.with_fields({"response_format": {"type": "json_schema"}}))

    await ask(chat.with_fields({"response_format": {"type": "json_object"}}))

    assert llm.requests[-1].body["response_format"] == {"type": "json_object"}
    assert chat.left_out == ("response_format=json_schema",)


async def test_what_is_known_before_is_not_sent_at_all(llm):
    chat = OpenAIChatModel(llm.url, "", "m", left_out=("temperature", "max_tokens", "stream_options"))

    await ask(chat)

    assert set(llm.requests[0].body) == {"model", "messages", "stream", "max_completion_tokens"}


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, json.dumps(openai_error("'messages' is empty"))),
        (401, json.dumps(openai_error("max_tokens", param="max_tokens"))),
        (400, json.dumps({"detail": [{"loc": ["body", "messages"], "msg": "missing", "input": {"temperature": 1}}]})),
        (400, "my_temperature_setting"),
        (400, "{" * 100_000),
    ],
)
def test_a_refusal_about_something_else_names_no_field(status, text):
    assert refused_field({"model": "m", "messages": [], "temperature": 1, "max_tokens": 5}, status, text) is None


def test_what_is_needed_is_never_left_out():
    request = {"model": "m", "messages": [], "stream": True, "max_tokens": 1}

    sent = without_fields(request, {"model", "model=m", "messages", "stream", "max_tokens", "max_completion_tokens"})

    assert sent == {"model": "m", "messages": [], "stream": True}


# ── the context ──────────────────────────────────────────────────────────────────────────────────

OVERFLOWS = [
    (400, openai_error("This model's maximum context length is 8192 tokens.", code="context_length_exceeded")),
    (
        400,
        {"object": "error", "message": "The input (90 tokens) is longer than the model's context length (64 tokens)."},
    ),
    (
        400,
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": 5000,
                "n_ctx": 4096,
            }
        },
    ),
    (500, {"error": {"code": 500, "message": "no", "type": "exceed_context_size_error", "n_ctx": 256}}),
    (422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"}),
    (422, {"error": "Input validation error: `inputs` must have less than 4096 tokens. Given: 4545"}),
    (400, {"error": "The number of tokens to keep from the initial prompt is greater than the context length."}),
    (400, openai_error("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]")),
    (413, openai_error("too many tokens in the prompt")),
    (400, openai_error("the input length exceeds the context length")),
]


@pytest.mark.parametrize(("status", "failure"), OVERFLOWS)
async def test_a_prompt_that_is_longer_than_the_context_is_told_apart_from_other_refusals(
    chat, llm, waits, status, failure
):
    llm.default = Reply(status=status, failure=failure)

    with pytest.raises(ModelUnavailableError) as caught:
        await ask(chat)

    assert caught.value.reason == "out_of_context"
    assert caught.value.is_about_prompt
    assert (len(llm.requests), waits) == (1, [])


async def test_a_limit_that_does_not_fit_beside_the_prompt_is_left_out_first(chat, llm):
    """As vLLM says it where the answer does not fit any more: the prompt itself may."""
    told = (
        "'max_tokens' or 'max_completion_tokens' is too large: 50. This model's maximum context length is 64 tokens "
        "and your request has 40 input tokens (50 > 64 - 40)."
    )
    llm.script(Reply(status=400, failure=openai_error(told)), Reply(texts=("short",)))

    assert text_of(await ask(chat)) == "short"


@pytest.mark.parametrize(("status", "text"), [(429, "Request too large: too many tokens a minute"), (400, "bad role")])
def test_other_refusals_are_no_overflow(status, text):
    assert not is_context_overflow(status, text)


async def test_an_overflow_inside_a_stream_says_the_same(chat, llm):
    llm.script(Reply(body=b'data: {"error": {"message": "Context size has been exceeded: context length 64"}}\n\n'))

    with pytest.raises(ModelUnavailableError) as caught:
        await ask(chat)

    assert caught.value.reason == "out_of_context"


# ── streams ──────────────────────────────────────────────────────────────────────────────────────


def chunk(content, finish=None, **delta):
    choice = {"index": 0, "delta": {"content": content, **delta}, "finish_reason": finish}
    return json.dumps({"choices": [choice]}, ensure_ascii=False).encode()


def events_of(*chunks):
    return b"".join(b"data: " + data + b"\n\n" for data in chunks)


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        ([b"\xe5\x9f", b"\xba\xe7\xab\x99"], "基站"),  # three bytes of a character in two pieces
        ([b"a\xe5", b"b"], "a\ufffdb"),
        ([b"\xff\xfe", b"x"], "\ufffd\ufffdx"),
        ([b"\\ud83d", b"\\ude00"], "😀"),  # a surrogate pair in two pieces
        ([b"\\ud83d", b"x"], "\ufffdx"),
        ([b"x", b"\\ud83d"], "x\ufffd"),
        ([b"x", b"\xe5\x9f"], "x\ufffd"),
    ],
)
@pytest.mark.parametrize("field", [b"content", b"reasoning_content"])
async def test_characters_that_a_server_has_cut_are_put_together_or_replaced(chat, llm, chunks, text, field):
    lines = [b'{"choices": [{"delta": {"%s": "%s"}}]}' % (field, part) for part in chunks]
    llm.script(Reply(body=events_of(*lines, chunk("", "stop"))))

    events = await ask(chat)

    told = text_of(events) if field == b"content" else "".join(event.reasoning for event in events)
    assert told == text
    assert not events[-1].interrupted
    told.encode()  # can be stored and sent


@pytest.mark.parametrize("size", [1, 2, 3, 7])
async def test_chunks_of_the_connection_may_end_anywhere(llm, size, monkeypatch):
    """The network cuts where it likes, also within a character and within the end of a line."""
    body = events_of(chunk("基站是"), chunk("设备。😀", "stop"))
    llm.script(Reply(body=body))
    chat = OpenAIChatModel(llm.url, "", "m")
    whole = httpx.Response.aiter_bytes

    async def cut(self, *args):
        async for part in whole(self, *args):
            for at in range(0, len(part), size):
                yield part[at : at + size]

    monkeypatch.setattr(httpx.Response, "aiter_bytes", cut)

    assert text_of(await ask(chat)) == "基站是设备。😀"


async def test_tool_calls_that_nobody_asked_for_are_no_text(chat, llm):
    call = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "search", "arguments": "{}"}}]}
    llm.script(
        Reply(body=events_of(chunk("Yes", **call), chunk(None, **call), chunk(".", "stop"))),
        Reply(body=events_of(chunk(None, **call), chunk(None, "tool_calls"))),
    )

    answer, only_calls = await ask(chat), await ask(chat)

    assert text_of(answer) == "Yes."
    assert (text_of(only_calls), only_calls[-1].interrupted) == ("", False)


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": {"message": "no provider", "code": 502}}',
        json.dumps({"error": {"message": "no provider", "code": 502}}, indent=2).encode(),
        b'data: {"error": {"message": "no provider", "code": 502}}\n\n',
        b'data: {"error": "no provider (502)", "error_type": "overloaded"}\n\n',
        b'data: {"object": "error", "message": "no provider", "code": 502}\n\n',
        b'error: {"code": 502, "message": "no provider", "type": "server_error"}\n\n',
        b'event: error\ndata: {"error": {"message": "no provider", "code": 502}}\n\n',
    ],
)
async def test_an_error_with_status_200_is_told_in_the_words_of_the_server(chat, llm, body):
    llm.default = Reply(body=body)

    with pytest.raises(ModelUnavailableError) as caught:
        await ask(chat.without_retries())

    assert caught.value.data["said"] == "no provider (502)"


async def test_a_field_that_is_refused_inside_a_stream_is_left_out(chat, llm):
    llm.script(Reply(body=b'data: {"error": {"message": "Unknown argument: reasoning_effort", "code": 400}}\n\n'))

    assert text_of(await ask(chat)) == "ok"
    assert chat.left_out == ("reasoning_effort=low",)


async def test_a_key_that_expires_in_the_middle_interrupts_and_is_told_by_the_next_request(chat, llm, waits):
    expired = {"error": {"message": "key-1 has expired", "code": "invalid_api_key"}}
    llm.script(Reply(body=events_of(chunk("begun"), json.dumps(expired).encode())), Reply(status=401, failure=expired))

    events = await ask(chat)
    with pytest.raises(ModelUnavailableError) as caught:
        await ask(chat)

    assert (text_of(events), events[-1].interrupted, events[-1].cause) == ("begun", True, "lost")
    assert caught.value.message.endswith("(HTTP 401): … has expired (invalid_api_key)")
    assert (len(llm.requests), waits) == (2, [])


async def test_a_stream_that_ends_with_a_fault_is_no_whole_answer(chat, llm):
    llm.script(Reply(texts=("half",), finish_reason="error"))

    assert (await ask(chat))[-1].interrupted


# ── addresses ────────────────────────────────────────────────────────────────────────────────────


async def test_azure_gets_its_version_and_key_with_every_request(llm):
    place = llm.url.removesuffix("/v1") + "/openai/deployments/gpt"

    await ask(OpenAIChatModel(f"{place}?api-version=2024-10-21", "key-1", "gpt"))

    request = llm.requests[0]
    assert request.path == "/openai/deployments/gpt/chat/completions?api-version=2024-10-21"
    assert (request.headers.get("api-key"), request.authorization) == ("key-1", None)


@pytest.mark.parametrize(
    ("url", "header"),
    [
        ("https://x.openai.azure.com/openai/v1/", "api-key"),
        ("https://x.services.ai.azure.com/openai/v1", "api-key"),
        ("https://azure.com.example.org/v1", "Authorization"),
        ("https://api.deepseek.com", "Authorization"),
        ("https://openrouter.ai/api/v1", "Authorization"),
    ],
)
def test_the_key_goes_where_the_server_looks_for_it(url, header):
    address = server_address(url, "secret")

    assert list(address.headers) == [header]
    assert address.url.endswith("/")
    assert "secret" not in repr(address)
