"""Asking in an embedded chat: over its WebSocket, in its sets, and nowhere else."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
import pytest_asyncio
from asgiref.testing import ApplicationCommunicator
from django.test import AsyncClient

from accounts.people.leaving import person_leave
from accounts.selectors import scope_for
from chat.concurrency.executors import run_db
from chat.consumers import NOT_SIGNED_IN
from chat.embeds.consumer import PROTOCOL, EmbedConsumer
from chat.models import Conversation, Message
from chat.turns.lifecycle import answer_now
from chat.types import AnswerRequest
from tests.chat.sockets import LIMIT_SECONDS, Socket
from tests.scripted_llm import Reply

QUESTION = "How many steps does the random access procedure have?"


class FrameSocket(Socket):
    """As the frame opens it: the bearer is a subprotocol."""

    def __init__(self, bearer: str, *, user: Any = None, lang: str = "en") -> None:
        scope = {
            "type": "websocket",
            "path": "/ws/embed",
            "headers": [],
            "query_string": f"lang={lang}".encode(),
            "subprotocols": [PROTOCOL, bearer],
            "user": user,
            "session": None,
        }
        ApplicationCommunicator.__init__(self, EmbedConsumer.as_asgi(), scope)

    async def connect(self) -> None:
        await self.send_input({"type": "websocket.connect"})
        accepted = await self.receive_output(LIMIT_SECONDS)
        assert (accepted["type"], accepted["subprotocol"]) == ("websocket.accept", PROTOCOL)


@pytest_asyncio.fixture
async def connect(portal):
    """Opens frames of the reader or with a bearer; closes them at the end."""
    opened = []

    async def make(bearer: str | None = None, **options: Any) -> FrameSocket:
        socket = FrameSocket(await run_db(portal.bearer) if bearer is None else bearer, **options)
        await socket.connect()
        opened.append(socket)
        return socket

    yield make
    for socket in opened:
        if not socket.future.done():
            await socket.disconnect()


async def closed(socket: FrameSocket) -> int:
    while True:
        output = await socket.receive_output(LIMIT_SECONDS)
        if output["type"] == "websocket.close":
            return int(output["code"])


async def answered(socket: FrameSocket, question: str = QUESTION, **more: Any) -> list[dict[str, Any]]:
    await socket.send(type="ask", question=question, **more)
    return await socket.until("done")


async def test_an_answer_comes_from_the_sets_of_the_chat_and_is_the_persons_own(connect, portal, llm):
    llm.default = Reply(texts=("It has four steps [1].",))
    socket = await connect()

    events = await answered(socket)

    conversation = await run_db(Conversation.objects.select_related("embed").get)
    assert events[-1]["data"]["status"] == "answered"
    assert (conversation.user_id, conversation.embed.name, conversation.channel) == (portal.reader.pk, "Portal", "web")
    assert await run_db(list, conversation.sets.values_list("pk", flat=True)) == [portal.radio.pk]


async def test_sets_outside_of_the_chat_are_not_searched_whatever_the_frame_sends(connect, portal, llm):
    llm.default = Reply(texts=("As the source says [1].",))
    socket = await connect()

    await answered(socket, "How many phases does a handover have?", sets=[portal.other.pk, portal.closed.pk])
    await answered(socket, "What is the salary of the director?")

    cited = await run_db(set, Message.objects.values_list("citations__document__sets__code", flat=True))
    assert cited <= {"radio", None}
    prompts = str(list(llm.requests))
    assert "seven phases" not in prompts
    assert "tons of gold" not in prompts


async def test_cookies_open_no_embedded_chat_and_a_wrong_bearer_neither(portal):
    for bearer in ("", "rse_wrong", "x"):
        socket = FrameSocket(bearer, user=portal.reader)
        await socket.connect()
        assert await closed(socket) == NOT_SIGNED_IN


async def test_the_socket_closes_when_the_person_is_deactivated(connect, portal):
    socket = await connect()

    await run_db(person_leave, user=portal.reader, actor=portal.admin)

    assert await closed(socket) == NOT_SIGNED_IN


async def test_other_conversations_can_be_neither_continued_nor_read(connect, portal, llm):
    llm.default = Reply(texts=("It has seven phases [1].",))
    scope = await run_db(scope_for, portal.reader)
    stored = await answer_now(
        scope=scope, user=portal.reader, request=AnswerRequest(query="How many phases does a handover have?")
    )
    socket = await connect()

    await socket.send(type="ask", question=QUESTION, conversation_id=str(stored.message.conversation_id))
    asked = (await socket.until("problem"))[-1]
    await socket.send(type="resume", message_id=str(stored.message.pk))
    resumed = (await socket.until("problem"))[-1]
    await socket.send(type="stop", message_id=str(stored.message.pk))
    stopped = (await socket.until("problem"))[-1]

    assert asked["code"] == resumed["code"] == stopped["code"] == "not_found"


async def test_a_conversation_that_went_on_elsewhere_stays_there(connect, portal, llm):
    """On the site all sets of the person answer: what they said must not be read in the chat of another page."""
    llm.default = Reply(texts=("It has four steps [1].",))
    bearer = await run_db(portal.bearer)
    socket = await connect(bearer)
    events = await answered(socket)
    conversation, message = events[0]["conversation_id"], events[0]["message_id"]
    address = f"/embed/{portal.embed.code}/messages/{message}"
    headers = {"authorization": f"Bearer {bearer}"}
    before = await AsyncClient().get(address, headers=headers)

    scope = await run_db(scope_for, portal.reader)
    request = AnswerRequest(query="How many phases does a handover have?", conversation_id=conversation)
    await answer_now(scope=scope, user=portal.reader, request=request)
    after = await AsyncClient().get(address, headers=headers)

    assert (before.status_code, after.status_code) == (200, 404)
    row = await run_db(Conversation.objects.get, pk=conversation)
    assert (row.embed_id, row.goes_on_in_embed) == (portal.embed.pk, False)


async def test_turns_and_sources_are_shown_to_the_frame(connect, portal, llm):
    llm.default = Reply(texts=("It has four steps [1].",))
    bearer = await run_db(portal.bearer)
    socket = await connect(bearer)
    events = await answered(socket)
    base, headers = f"/embed/{portal.embed.code}", {"authorization": f"Bearer {bearer}"}

    turn = await AsyncClient().get(f"{base}/messages/{events[0]['message_id']}", headers=headers)
    turns = await AsyncClient().get(f"{base}/conversations/{events[0]['conversation_id']}", headers=headers)
    source = await AsyncClient().get(f"{base}/messages/{events[0]['message_id']}/sources/1", headers=headers)

    assert "four steps" in turn.content.decode()
    assert "data-vote" in turn.content.decode()
    assert QUESTION in turns.content.decode()
    assert "PRACH" in source.content.decode()
    colleague = await run_db(portal.bearer, portal.colleague.username)
    for path in (f"messages/{events[0]['message_id']}", f"messages/{events[0]['message_id']}/sources/1"):
        response = await AsyncClient().get(f"{base}/{path}", headers={"authorization": f"Bearer {colleague}"})
        assert response.status_code == 404


async def test_a_set_that_leaves_the_chat_is_not_asked_by_open_frames(connect, portal, llm):
    llm.default = Reply(texts=("It has four steps [1].",))
    socket = await connect()
    await run_db(portal.embed.sets.set, [portal.closed])

    events = await answered(socket)

    assert events[-1]["data"]["status"] != "answered"
    assert not await run_db(Message.objects.filter(citations__isnull=False).exists)


@pytest.mark.parametrize(("lang", "is_chinese"), [("zh-hans", True), ("en", False), ("x", False)])
async def test_problems_are_told_in_the_language_of_the_frame(connect, lang, is_chinese):
    socket = await connect(lang=lang)

    await socket.send(type="stop", message_id=str(uuid.uuid4()))
    problem = (await socket.until("problem"))[-1]["message"]

    assert any("\u4e00" <= letter <= "\u9fff" for letter in problem) is is_chinese
