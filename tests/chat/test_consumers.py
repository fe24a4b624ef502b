"""The WebSocket of the chat page."""

import pytest
import pytest_asyncio
from django.db import OperationalError
from redis.exceptions import ConnectionError as RedisConnectionError

from chat.answering import retrieval
from chat.concurrency.executors import run_db
from chat.consumers import INTERNAL, NOT_SIGNED_IN, ChatConsumer
from chat.models import Message
from chat.turns import stream_reader
from chat.turns.message_store import turns_sweep
from knowledge.errors import RetrievalUnavailableError
from tests.chat.sockets import LIMIT_SECONDS, Socket
from tests.scripted_llm import Reply

QUESTION = "How many steps does the random access procedure have?"


@pytest_asyncio.fixture
async def connect(world):
    """Opens pages of the reader or of someone else, closes them at the end."""
    opened = []

    async def make(user=None, **options):
        socket = Socket(user or world.reader, **options)
        await socket.connect()
        opened.append(socket)
        return socket

    yield make
    for socket in opened:
        if not socket.future.done():
            await socket.disconnect()


async def test_a_question_is_announced_and_answered_block_by_block(connect, llm):
    llm.script(Reply(texts=("# Result\n\n", "It has four steps [1].\n\n", "Four.")))
    socket = await connect()

    await socket.send(type="ask", question=QUESTION)
    events = await socket.until("done")

    assert events[0]["type"] == "turn"
    assert events[0]["title"] == QUESTION
    blocks = [event["data"] for event in events if event["type"] == "block"]
    assert [block["index"] for block in blocks] == [0, 1, 2]
    assert blocks[0]["html"] == "<h1>Result</h1>\n"
    assert 'data-cite="1"' in blocks[1]["html"]
    assert "chunk" not in {event["type"] for event in events}
    assert events[-1]["data"]["status"] == "answered"
    assert "<h1>" in events[-1]["data"]["html"]


async def test_style_and_depth_of_the_composer_are_options_of_the_answer(connect, llm):
    llm.default = Reply(texts=("It has four steps [1].",))
    socket = await connect()

    await socket.send(type="ask", question=QUESTION, style="precise", depth="fast")
    await socket.until("done")
    await socket.send(type="ask", question=QUESTION, style="rude")
    refused = await socket.until("problem")

    request = (await run_db(Message.objects.get)).request
    assert (request["style"], request["preset"], request["given"]) == ("precise", "fast", ["preset", "style"])
    assert refused[-1]["code"] == "invalid"


async def test_a_fresh_answer_passes_the_cache_by(connect, llm):
    llm.default = Reply(texts=("It has four steps [1].",))
    socket = await connect()
    kinds = []

    for more in ({}, {}, {"cache": False}):
        await socket.send(type="ask", question=QUESTION, **more)
        kinds.append((await socket.until("done"))[-1]["data"]["metadata"]["cache"])

    assert kinds == ["none", "exact", "none"]


async def test_a_refreshed_page_sees_the_running_answer(connect, llm):
    llm.script(Reply(texts=("First.\n\n", "Second [1]."), hold_before=1))
    first = await connect()
    await first.send(type="ask", question=QUESTION)
    seen = await first.until("tail")
    await first.disconnect()

    second = await connect()
    await second.send(type="resume", message_id=seen[0]["message_id"], after=0)
    llm.release.set()
    events = await second.until("done")

    assert [event["data"]["index"] for event in events if event["type"] == "block"] == [0, 1]


async def test_a_page_whose_events_cannot_be_read_is_sent_away_and_comes_back(connect, llm, monkeypatch):
    llm.default = Reply(texts=("It has four steps [1].",))
    first = await connect()
    await first.send(type="ask", question=QUESTION)
    message_id = (await first.until("done"))[0]["message_id"]

    async def broken(*_args):
        raise RedisConnectionError

    with monkeypatch.context() as patched:
        patched.setattr(stream_reader, "_read_entries", broken)
        second = await connect()
        await second.send(type="resume", message_id=message_id, after=0)
        await second.until("turn")
        closed = await second.receive_output(LIMIT_SECONDS)
    third = await connect()
    await third.send(type="resume", message_id=message_id, after=0)

    assert (closed["type"], closed["code"]) == ("websocket.close", INTERNAL)
    assert (await third.until("done"))[-1]["data"]["status"] == "answered"


async def test_stopping_keeps_what_was_written(connect, llm):
    llm.script(Reply(texts=("It has four steps [1]. ", "Never seen."), hold_before=1))
    socket = await connect()
    await socket.send(type="ask", question=QUESTION)
    seen = await socket.until("tail")

    await socket.send(type="stop", message_id=seen[0]["message_id"])
    events = await socket.until("done")

    message = await run_db(Message.objects.get, pk=seen[0]["message_id"])
    assert events[-1]["data"]["state"] == message.state == Message.State.STOPPED
    assert message.answer == "It has four steps [1]."


async def test_strangers_can_neither_read_nor_stop_a_turn(connect, world, llm):
    mine = await connect()
    await mine.send(type="ask", question=QUESTION)
    turn = (await mine.until("done"))[0]
    other = await connect(world.owner)

    for kind in ("resume", "stop"):
        await other.send(type=kind, message_id=turn["message_id"])
        assert (await other.receive())["code"] == "not_found"
    await mine.disconnect()


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[]", '{"type": "ask"}', '{"type": "shout"}', '{"type": "ask", "question": "q", "x": 1}']
)
async def test_a_bad_message_is_answered_and_the_connection_stays(connect, text):
    socket = await connect()

    await socket.send_text(text)

    assert (await socket.receive())["code"] == "invalid"
    await socket.send(type="ask", question=QUESTION)
    assert (await socket.until("done"))[-1]["data"]["status"] == "answered"


async def test_nobody_is_let_in_without_signing_in(world):
    socket = Socket(None)

    await socket.connect()

    assert (await socket.receive_output(LIMIT_SECONDS))["code"] == NOT_SIGNED_IN


async def test_a_question_to_a_set_that_does_not_exist_is_a_problem(connect):
    socket = await connect()

    await socket.send(type="ask", question=QUESTION, sets=[999999])

    assert (await socket.receive())["code"] == "not_found"


async def test_a_turn_whose_process_died_is_marked_and_living_ones_are_not(connect, llm, redis_client, monkeypatch):
    monkeypatch.setattr("chat.turns.message_store.GRACE_SECONDS", 0)
    llm.script(Reply(texts=("First. ", "Second."), hold_before=1))
    socket = await connect()
    await socket.send(type="ask", question=QUESTION)
    running = (await socket.until("tail"))[0]["message_id"]
    message = await run_db(Message.objects.get, pk=running)
    dead = await run_db(Message.objects.create, conversation_id=message.conversation_id, question="lost")

    assert await run_db(turns_sweep) == 1

    await run_db(dead.refresh_from_db)
    assert (dead.state, dead.error_code) == (Message.State.FAILED, "interrupted")
    llm.release.set()
    assert (await socket.until("done"))[-1]["data"]["state"] == Message.State.DONE


async def test_what_cannot_be_done_is_said_in_the_language_of_the_page(connect):
    socket = await connect(language="zh-CN,zh;q=0.9,en;q=0.8")

    await socket.send(type="stop", message_id="00000000-0000-0000-0000-000000000000")
    assert (await socket.until("problem"))[-1]["message"] == "没有这条消息。"


async def test_a_search_that_is_down_is_told_in_words_for_readers(connect, monkeypatch):
    def down(**_values):
        raise RetrievalUnavailableError

    monkeypatch.setattr(retrieval, "retrieve", down)
    socket = await connect()

    await socket.send(type="ask", question=QUESTION)
    told = (await socket.until("error"))[-1]["data"]

    assert told["code"] == "retrieval_unavailable"
    assert told["message"].startswith("The system has a technical problem")


async def test_a_database_that_is_away_is_told_in_words_and_the_connection_recovers(connect, monkeypatch):
    socket = await connect()
    asker = ChatConsumer.asker

    def away(_consumer):
        raise OperationalError("the connection is closed")

    monkeypatch.setattr(ChatConsumer, "asker", away)
    await socket.send(type="ask", question="What is a preamble?")
    problem = await socket.receive()
    monkeypatch.setattr(ChatConsumer, "asker", asker)
    await socket.send(type="ask", question="What is a preamble?")
    told = await socket.receive()

    assert (problem["type"], problem["code"]) == ("problem", "unavailable")
    assert "technical problem" in problem["message"]
    assert told["type"] == "turn"


async def test_a_reader_who_asks_too_much_is_told_so_and_the_connection_stays(connect, settings):
    settings.QUESTIONS_PER_MINUTE = 1
    socket = await connect()
    await socket.send(type="ask", question=QUESTION)
    await socket.until("done")

    await socket.send(type="ask", question=QUESTION)
    events = await socket.until("problem")

    assert events[-1]["code"] == "rate_limited"
