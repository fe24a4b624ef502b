import asyncio
import threading

import pytest

from ragcore.errors import ModelUnavailableError, UrlNotAllowedError
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.model_limits import ModelLimits
from tests.contracts.chat_model import MESSAGES, ChatModelContract, collect
from tests.scripted_llm import Reply


@pytest.fixture
def chat(llm, waits):
    async def sleep(seconds):
        waits.append(seconds)

    return OpenAIChatModel(llm.url, "key-1", "scripted", sleep=sleep)


def ask(chat):
    return collect(chat.stream(MESSAGES, temperature=0.3, max_tokens=50))


class TestOpenAIChatModel(ChatModelContract):
    async def test_the_request_carries_messages_options_and_key(self, chat, llm):
        await ask(chat)

        request = llm.requests[0]
        assert request.path == "/v1/chat/completions"
        assert request.authorization == "Bearer key-1"
        assert request.body["messages"][1] == {"role": "user", "content": "基站是什么？"}
        assert (request.body["model"], request.body["temperature"], request.body["max_tokens"]) == ("scripted", 0.3, 50)

    @pytest.mark.parametrize("status", [429, 500, 503])
    async def test_a_busy_server_is_asked_again_after_1_2_and_4_seconds(self, chat, llm, waits, status):
        llm.script(Reply(status=status), Reply(status=status), Reply(status=status), Reply(texts=("at last",)))

        events = await ask(chat)

        assert events[0].text == "at last"
        assert [int(seconds) for seconds in waits] == [1, 2, 4]

    async def test_a_server_that_says_when_to_come_back_is_not_asked_before(self, chat, llm, waits):
        llm.script(Reply(status=429, headers=(("Retry-After", "7"),)), Reply(texts=("at last",)))

        events = await ask(chat)

        assert events[0].text == "at last"
        assert waits == [7]

    @pytest.mark.parametrize("said", ["0", "-5", "soon", "Wed, 21 Oct 2015 07:28:00 GMT"])
    async def test_what_says_nothing_about_later_changes_nothing(self, chat, llm, waits, said):
        llm.script(Reply(status=503, headers=(("Retry-After", said),)), Reply(texts=("at last",)))

        await ask(chat)

        assert [int(seconds) for seconds in waits] == [1]

    async def test_a_server_that_wants_more_time_than_there_is_is_given_up_at_once(self, chat, llm, waits):
        llm.script(Reply(status=429, headers=(("Retry-After", "3600"),)))

        with pytest.raises(ModelUnavailableError):
            await ask(chat)

        assert (len(llm.requests), waits) == (1, [])

    async def test_after_three_retries_it_gives_up(self, chat, llm, waits):
        llm.default = Reply(status=500)

        with pytest.raises(ModelUnavailableError, match="HTTP 500"):
            await ask(chat)

        assert len(llm.requests) == 4

    async def test_a_connection_lost_before_the_first_token_is_tried_again(self, chat, llm):
        llm.script(Reply(cut_after=0), Reply(texts=(), finish=False), Reply(texts=("fine",)))

        events = await ask(chat)

        assert events[0].text == "fine"
        assert len(llm.requests) == 3

    @pytest.mark.parametrize("status", [400, 401, 404])
    async def test_a_refused_request_is_not_repeated(self, chat, llm, waits, status):
        llm.script(Reply(status=status))

        with pytest.raises(ModelUnavailableError, match=f"HTTP {status}"):
            await ask(chat)

        assert waits == []
        assert len(llm.requests) == 1

    async def test_a_refusal_is_told_in_the_words_of_the_server_without_the_key(self, chat, llm):
        llm.script(Reply(status=401, failure={"error": {"message": "key-1 is\n no key", "code": "bad_key"}}))

        with pytest.raises(ModelUnavailableError) as caught:
            await ask(chat)

        assert caught.value.message.endswith("refused the request (HTTP 401): … is no key (bad_key)")
        assert "key-1" not in str(caught.value.data)

    @pytest.mark.parametrize(
        ("status", "reason"), [(404, "not_compatible"), (501, "not_compatible"), (502, "rejected")]
    )
    async def test_a_page_is_never_shown(self, chat, llm, status, reason):
        llm.default = Reply(status=status, failure=b"<!DOCTYPE html><html><body>Unsupported method</body></html>")

        with pytest.raises(ModelUnavailableError) as caught:
            await ask(chat.without_retries())

        assert caught.value.reason == reason
        assert f"HTTP {status}" in caught.value.message
        assert "<" not in caught.value.message

    async def test_nobody_listening_gives_up_too(self, waits):
        async def sleep(seconds):
            waits.append(seconds)

        chat = OpenAIChatModel("http://127.0.0.1:9/v1", "", "none", sleep=sleep)

        with pytest.raises(ModelUnavailableError) as caught:
            await ask(chat)

        assert caught.value.reason == "unreachable"
        assert len(waits) == 3

    async def test_an_answer_that_flows_is_not_cut_however_long_it_takes(self, llm):
        """Limits in the tenth of a second that the default ones have in 30: nothing but silence ends a text."""
        limits = ModelLimits(first_token_seconds=0.3, between_tokens_seconds=0.3)
        llm.script(Reply(texts=tuple("0123456789abcdef"), pause_seconds=0.1))

        events = await ask(OpenAIChatModel(llm.url, "", "scripted", limits=limits))

        assert "".join(event.text for event in events) == "0123456789abcdef"  # took 1.5 s, five times every limit
        assert not events[-1].interrupted

    async def test_reasoning_is_life_and_no_text(self, llm):
        limits = ModelLimits(first_token_seconds=0.3, between_tokens_seconds=0.3)
        llm.script(Reply(thoughts=tuple("hmm and so on"), texts=("Four.",), pause_seconds=0.08))

        events = await ask(OpenAIChatModel(llm.url, "", "scripted", limits=limits))

        assert "".join(event.text for event in events) == "Four."
        assert "".join(event.reasoning for event in events) == "hmm and so on"
        assert not events[-1].interrupted

    async def test_silence_in_the_middle_ends_an_answer_as_stalled(self, llm):
        limits = ModelLimits(first_token_seconds=9, between_tokens_seconds=0.2)
        llm.script(Reply(texts=("begun", "never"), hold_before=1))

        events = await ask(OpenAIChatModel(llm.url, "", "scripted", limits=limits))

        assert [event.text for event in events] == ["begun", ""]
        assert (events[-1].interrupted, events[-1].cause) == (True, "stalled")

    async def test_a_limit_in_all_ends_a_text_that_flows(self, llm):
        limits = ModelLimits(total_seconds=0.5)
        llm.script(Reply(texts=tuple("0123456789" * 9), pause_seconds=0.1))

        events = await ask(OpenAIChatModel(llm.url, "", "scripted", limits=limits))

        assert len(events) < 10
        assert (events[-1].interrupted, events[-1].cause) == (True, "late")

    async def test_without_a_first_token_in_time_it_is_slow_and_not_asked_again(self, llm):
        chat = OpenAIChatModel(llm.url, "", "scripted", limits=ModelLimits(first_token_seconds=0.3))
        llm.script(Reply(hold_before=0))

        with pytest.raises(ModelUnavailableError) as caught:
            await ask(chat)

        assert (caught.value.reason, caught.value.data["seconds"]) == ("slow", "0.3")
        assert len(llm.requests) == 1

    async def test_retries_count_as_waiting_for_the_first_token(self, llm):
        chat = OpenAIChatModel(llm.url, "", "scripted", limits=ModelLimits(first_token_seconds=0.5))
        llm.default = Reply(status=500)

        with pytest.raises(ModelUnavailableError):
            await ask(chat)

        assert len(llm.requests) == 1  # the first retry would come after a second

    async def test_who_leaves_before_the_first_token_closes_the_connection(self, llm):
        chat = OpenAIChatModel(llm.url, "", "scripted")
        taken = threading.Event()

        def hold(request):
            taken.set()
            return Reply(hold_before=0)

        llm.respond = hold
        asking = asyncio.create_task(ask(chat))
        assert await asyncio.to_thread(taken.wait, 20)

        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

        pool = chat._client()._transport._pool
        assert not pool.connections

    async def test_an_empty_answer_that_ended_properly_is_an_answer(self, chat, llm):
        llm.script(Reply(texts=()))

        events = await ask(chat)

        assert [event.final for event in events] == [True]
        assert not events[0].interrupted

    async def test_a_listener_that_leaves_closes_the_connection(self, chat, llm):
        llm.script(Reply(texts=("one", "two"), hold_before=1))
        stream = chat.stream(MESSAGES, temperature=0, max_tokens=5)
        await anext(stream)

        await stream.aclose()

        llm.release.set()
        assert (await ask(chat))[0].text == "ok"


CHUNK = '{{"choices": [{{"index": 0, "delta": {{"content": "{}"}}, "finish_reason": {}}}]}}'


@pytest.mark.parametrize(
    ("lines", "texts"),
    [
        (["data: " + CHUNK.format("one ", "null"), "", "data: " + CHUNK.format("two", '"stop"'), ""], "one two"),
        (["data:" + CHUNK.format("close", '"stop"')], "close"),  # without a space, and without an end of the line
        ([": a comment", "event: x", "data: " + CHUNK.format("seen", '"stop"'), "data: [DONE]", "data: {"], "seen"),
        (["data: " + CHUNK.format("a\u2028b\u0085c", '"stop"')], "a\u2028b\u0085c"),  # no ends of lines in JSON
        (['data: {"choices": [], "usage": {"prompt_tokens": 1}}', "data: " + CHUNK.format("x", '"stop"')], "x"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_the_lines_of_a_stream_are_read_as_servers_write_them(chat, llm, lines, texts, end):
    llm.script(Reply(body=end.join(lines).encode()))

    events = await ask(chat)

    assert "".join(event.text for event in events) == texts
    assert not events[-1].interrupted


@pytest.mark.parametrize(
    "data", ['{"error": {"message": "overloaded"}}', "[1]", "nothing", '{"choices": [1]}', '{"choices": 7, "usage": 1}']
)
async def test_what_is_no_chunk_interrupts_the_answer(chat, llm, data):
    llm.script(Reply(body=f"data: {CHUNK.format('begun', 'null')}\n\ndata: {data}\n\n".encode()))

    events = await ask(chat)

    assert events[0].text == "begun"
    assert events[-1].interrupted


def test_one_model_serves_several_event_loops(llm):
    chat = OpenAIChatModel(llm.url, "", "scripted")

    for _ in range(3):
        assert asyncio.run(ask(chat))[0].text == "ok"


async def test_with_short_retries_it_asks_once_more_after_half_a_second(chat, llm, waits):
    llm.default = Reply(status=500)

    with pytest.raises(ModelUnavailableError) as caught:
        await ask(chat.with_short_retries())

    assert len(llm.requests) == 2
    assert [round(seconds, 1) for seconds in waits] in ([0.5], [0.6])
    assert caught.value.data == {"model": "scripted", "busy": False, "status": 500, "said": "scripted failure"}


@pytest.mark.parametrize("headers", [(), (("Retry-After", "5"),)])
async def test_with_short_retries_it_does_not_wait_for_a_busy_server_and_says_that_it_is_busy(
    chat, llm, waits, headers
):
    llm.default = Reply(status=429, headers=headers)

    with pytest.raises(ModelUnavailableError) as caught:
        await ask(chat.with_short_retries())

    assert len(llm.requests) == (1 if headers else 2)
    assert caught.value.data["busy"]


async def test_the_model_itself_keeps_its_long_retries(chat, llm, waits):
    llm.default = Reply(status=500)
    with pytest.raises(ModelUnavailableError):
        await ask(chat.with_short_retries())

    with pytest.raises(ModelUnavailableError):
        await ask(chat)

    assert len(llm.requests) == 2 + 4


async def test_a_host_that_may_not_be_connected_to_is_asked_once_and_not_again(waits):
    asked = []

    def permitted(host, port):
        asked.append((host, port))
        raise UrlNotAllowedError(host=host)

    async def sleep(seconds):
        waits.append(seconds)

    chat = OpenAIChatModel("http://models.example:9/v1", "key", "m", sleep=sleep, permitted=permitted)

    with pytest.raises(ModelUnavailableError):
        await ask(chat)

    assert (asked, waits) == ([("models.example", 9)], [])


@pytest.mark.parametrize("ending", ["", "/"])
async def test_the_address_may_end_with_a_slash(llm, ending):
    await ask(OpenAIChatModel(llm.url + ending, "", "scripted"))

    assert (llm.requests[0].path, llm.requests[0].authorization) == ("/v1/chat/completions", None)


async def test_a_refusal_without_a_reason_is_taken_for_one_of_further_fields(llm):
    def respond(request):
        return (
            Reply(status=400, failure={"error": "bad request"}) if "min_p" in request.body else Reply(texts=("Yes.",))
        )

    llm.respond = respond
    chat = OpenAIChatModel(llm.url, "", "m").with_fields({"min_p": 0.1})

    for _ in range(2):
        await collect(chat.stream(MESSAGES, temperature=0.0, max_tokens=10))

    assert ["min_p" in request.body for request in llm.requests] == [True, False, False]
    assert chat.left_out == ("min_p",)


async def test_a_refusal_of_the_prompt_is_not_blamed_on_further_fields(llm):
    llm.default = Reply(status=400, failure={"error": "bad request"})
    chat = OpenAIChatModel(llm.url, "", "m").with_fields({"min_p": 0.1})

    with pytest.raises(ModelUnavailableError):
        await collect(chat.stream(MESSAGES, temperature=0.0, max_tokens=10))

    assert len(llm.requests) == 2
    assert chat.left_out == ()
