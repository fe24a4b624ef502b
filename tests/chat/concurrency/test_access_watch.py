"""Sockets and streams end with the access by which they were opened."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import pytest_asyncio
from django.test import AsyncClient, Client
from django.utils import timezone

from accounts.access_events import Access
from accounts.models import ApiKey
from accounts.people.services import person_deactivate
from accounts.services import api_key_create, api_key_revoke
from accounts.sign_in.models import BrowserSession
from accounts.sign_in.passwords import password_set
from accounts.sign_in.sessions import session_revoke
from chat.concurrency.access_watch import access_watch
from chat.concurrency.executors import run_db
from chat.consumers import NOT_SIGNED_IN
from tests.chat.sockets import Socket
from tests.factories import make_admin
from tests.scripted_llm import Reply

SOON_SECONDS = 1.0
QUESTION = "How many steps does the random access procedure have?"


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest_asyncio.fixture
async def connect(world):
    """Sockets of sessions, subscribed when they are returned."""
    opened = []

    async def make(client: Client) -> Socket:
        socket = Socket(world.reader, session=client.session)
        await socket.connect()
        opened.append(socket)
        await access_watch().subscribed.wait()
        return socket

    yield make
    for socket in opened:
        if not socket.future.done():
            await socket.disconnect()


async def closed(socket: Socket, began: float) -> bool:
    """Whether it was sent to the sign-in in time."""
    message = await socket.receive_output(5)
    return message == {"type": "websocket.close", "code": NOT_SIGNED_IN} and time.monotonic() - began < SOON_SECONDS


async def test_one_session_ends_and_the_others_go_on(connect, world):
    here, there = await run_db(signed_in, world.reader), await run_db(signed_in, world.reader)
    first, second = await connect(here), await connect(there)
    reference = await run_db(lambda: BrowserSession.objects.get(pk=here.session.session_key).reference)

    began = time.monotonic()
    await run_db(session_revoke, user=world.reader, reference=reference, actor=world.reader)

    assert await closed(first, began)
    assert await second.receive_nothing(0.2)


async def test_signing_out_ends_its_sockets(connect, world):
    browser = await run_db(signed_in, world.reader)
    socket = await connect(browser)

    await run_db(browser.post, "/sign-out")
    began = time.monotonic()  # the first request of a process loads the site's addresses

    assert await closed(socket, began)


async def test_another_password_and_deactivation_end_every_socket(connect, world):
    for end in (
        lambda: password_set(user=world.reader, password="quiet river 9"),
        lambda: person_deactivate(user=world.reader, actor=make_admin("root")),
    ):
        sockets = [await connect(await run_db(signed_in, world.reader)) for _ in range(2)]
        began = time.monotonic()
        await run_db(end)
        assert [await closed(socket, began) for socket in sockets] == [True, True]


async def test_a_socket_of_a_session_that_is_over_closes_by_itself(world):
    browser = await run_db(signed_in, world.reader)
    session = browser.session
    await run_db(BrowserSession.objects.all().delete)
    socket = Socket(world.reader, session=session)
    await socket.connect()

    assert await closed(socket, time.monotonic())


async def test_a_stream_ends_with_the_person(world, llm):
    llm.script(Reply(texts=("First.\n\n", "Second [1]."), hold_before=1))
    _key, secret = await run_db(lambda: api_key_create(user=world.reader, name="script"))
    response = await AsyncClient().post(
        "/api/v1/rag/generate/stream",
        {"query": QUESTION},
        content_type="application/json",
        headers={"authorization": f"Bearer {secret}"},
    )
    parts = aiter(response.streaming_content)
    assert b"context" in await anext(parts)
    await access_watch().subscribed.wait()

    began = time.monotonic()
    await run_db(lambda: person_deactivate(user=world.reader, actor=make_admin("root")))
    rest = [part async for part in parts]

    assert time.monotonic() - began < SOON_SECONDS
    assert not any(b"[DONE]" in part for part in rest)
    llm.release.set()


async def test_a_stream_of_a_key_outlives_a_change_of_the_password(world, llm):
    llm.script(Reply(texts=("First.\n\n", "Second [1]."), hold_before=1))
    _key, secret = await run_db(lambda: api_key_create(user=world.reader, name="script"))
    response = await AsyncClient().post(
        "/api/v1/rag/generate/stream",
        {"query": QUESTION},
        content_type="application/json",
        headers={"authorization": f"Bearer {secret}"},
    )
    parts = aiter(response.streaming_content)
    await anext(parts)
    await run_db(lambda: password_set(user=world.reader, password="quiet river 9"))
    await asyncio.to_thread(llm.release.set)

    assert b"[DONE]" in [part async for part in parts][-1]


async def stream_of(secret: str):
    """An answer that was begun and does not go on, as an iterator of what comes."""
    response = await AsyncClient().post(
        "/api/v1/rag/generate/stream",
        {"query": QUESTION},
        content_type="application/json",
        headers={"authorization": f"Bearer {secret}"},
    )
    parts = aiter(response.streaming_content)
    assert b"context" in await anext(parts)
    return parts


async def test_a_stream_ends_with_its_key_and_those_of_other_keys_go_on(world, llm):
    llm.script(Reply(texts=("First.\n\n", "Second [1]."), hold_before=1))
    key, secret = await run_db(lambda: api_key_create(user=world.reader, name="one"))
    second, _secret = await run_db(lambda: api_key_create(user=world.reader, name="two"))
    parts = await stream_of(secret)
    with access_watch().watch(Access(user_id=world.reader.pk, key=second.pk)) as other:
        await access_watch().subscribed.wait()

        await run_db(lambda: api_key_revoke(key=key, actor=world.reader))
        began = time.monotonic()
        rest = [part async for part in parts]

        assert time.monotonic() - began < SOON_SECONDS
        assert not any(b"[DONE]" in part for part in rest)
        assert not other.ended.is_set()
    llm.release.set()


async def test_a_stream_ends_when_its_key_expires(world, llm):
    llm.script(Reply(texts=("First.\n\n", "Second [1]."), hold_before=1))
    later = timezone.now() + timedelta(hours=1)
    key, secret = await run_db(lambda: api_key_create(user=world.reader, name="one", expires=later))
    parts = await stream_of(secret)
    soon = timezone.now() + timedelta(seconds=0.3)
    await run_db(ApiKey.objects.filter(pk=key.pk).update, expires=soon)
    (watched,) = access_watch()._watched
    await watched.check()  # reads the new end

    rest = [part async for part in parts]

    assert not any(b"[DONE]" in part for part in rest)
    assert 0 <= (timezone.now() - soon).total_seconds() < SOON_SECONDS
    llm.release.set()


async def test_a_socket_closes_when_its_session_expires(world):
    browser = await run_db(signed_in, world.reader)
    soon = timezone.now() + timedelta(seconds=0.3)
    await run_db(BrowserSession.objects.all().update, expire_date=soon)
    socket = Socket(world.reader, session=browser.session)
    await socket.connect()

    assert (await socket.receive_output(5))["type"] == "websocket.close"
    assert 0 <= (timezone.now() - soon).total_seconds() < SOON_SECONDS
