import asyncio

import pytest

from ragcore.errors import ModelUnavailableError, UrlNotAllowedError
from ragcore.llm.openai_chat import OpenAIChatModel
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

        with pytest.raises(ModelUnavailableError, match="status 500"):
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

        with pytest.raises(ModelUnavailableError, match=f"status {status}"):
            await ask(chat)

        assert waits == []
        assert len(llm.requests) == 1

    async def test_the_message_of_an_error_does_not_repeat_what_the_server_said(self, chat, llm):
        llm.script(Reply(status=401))

        with pytest.raises(ModelUnavailableError) as caught:
            await ask(chat)

        assert "scripted failure" not in caught.value.message

    async def test_nobody_listening_gives_up_too(self, waits):
        async def sleep(seconds):
            waits.append(seconds)

        chat = OpenAIChatModel("http://127.0.0.1:9/v1", "", "none", sleep=sleep)

        with pytest.raises(ModelUnavailableError):
            await ask(chat)

        assert len(waits) == 3

    async def test_the_total_timeout_interrupts_an_answer(self, llm):
        chat = OpenAIChatModel(llm.url, "", "scripted", total_timeout_seconds=0.5)
        llm.script(Reply(texts=("begun", "never"), hold_before=1))

        events = await ask(chat)

        assert [event.text for event in events] == ["begun", ""]
        assert events[-1].interrupted

    async def test_the_total_timeout_covers_the_wait_for_the_first_token(self, llm):
        chat = OpenAIChatModel(llm.url, "", "scripted", total_timeout_seconds=0.3)
        llm.script(Reply(hold_before=0))

        with pytest.raises(ModelUnavailableError):
            await ask(chat)

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
    assert caught.value.data == {"model": "scripted", "busy": False, "problem": "status 500"}


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
