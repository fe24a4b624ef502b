"""Bodies that are too large, or whose sender is unknown, are refused before they are read; the answer arrives."""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import uvicorn
from asgiref.sync import sync_to_async
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from accounts.services import api_key_create
from ragsite import body_limits, request_bodies
from ragsite.asgi import application
from ragsite.body_limits import BODY_LIMITS, STRANGER_BYTES, BodyLimit, body_limit
from ragsite.http_protocol import MAX_HEAD_BYTES, LimitedProtocol
from ragsite.request_bodies import RequestBodies
from tests.factories import make_admin

MIB = 1024 * 1024
DOCUMENTS = "/api/v1/documents"
BULK = "/api/v1/documents/bulk"


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[int]:
    """A real server; its port."""
    config = uvicorn.Config(app, port=0, log_level="warning", lifespan="off", http=LimitedProtocol)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        assert not task.done()
        await asyncio.sleep(0)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What an application behind the layer read; nobody is known there."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        found.requests += 1
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            found.read += len(message["body"])
            if not message["more_body"]:
                break
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    found = SimpleNamespace(requests=0, read=0, app=app)
    return found


async def head_only(port: int, path: str, *lines: str) -> int:
    """The status that comes back before any byte of the body was sent."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode())
    try:
        return int((await asyncio.wait_for(reader.readline(), 10)).split()[1])
    finally:
        writer.close()


@pytest.mark.asyncio
async def test_a_body_that_finds_no_room_on_the_disk_is_told() -> None:
    async def full(scope: Any, receive: Any, send: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    async with serving(RequestBodies(full)) as port, httpx.AsyncClient(trust_env=False) as http:
        page = await http.post(f"http://127.0.0.1:{port}/sign-in", content=b"x" * 100)
        data = await http.post(f"http://127.0.0.1:{port}/api/v1/rag/generate", content=b"x" * 100)

    assert (page.status_code, data.status_code) == (507, 507)
    assert "disk" in page.text
    assert data.json()["error"]["code"] == "storage_full"


@pytest.mark.parametrize(
    "path", [DOCUMENTS, BULK, "/nowhere", "/api/v1/nowhere", "/api/v1/webhooks/x", "/api/v1/rag/generate", "/mcp", "/"]
)
async def test_a_declared_body_over_the_limit_is_refused_before_it_is_sent(seen: Any, path: str) -> None:
    async with serving(RequestBodies(seen.app)) as port:
        lines = (f"Content-Length: {2**40}", "Content-Type: application/octet-stream")

        assert await head_only(port, path, *lines) == 413
        assert await head_only(port, path, *lines, "Expect: 100-continue") == 413
    assert (seen.requests, seen.read) == (0, 0)


async def test_whoever_sends_the_whole_body_first_reads_the_answer_all_the_same(seen: Any) -> None:
    async with serving(RequestBodies(seen.app)) as port, httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"http://127.0.0.1:{port}/v1/models", content=b"x" * 20 * MIB)

    assert answer.status_code == 413
    assert answer.headers["connection"] == "close"
    assert answer.json()["error"]["code"] == "body_too_large"
    assert seen.read == 0


async def test_a_body_without_a_length_is_counted_and_cut_off(seen: Any) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(200):
            yield b"x" * 10_000

    async with serving(RequestBodies(seen.app)) as port, httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"http://127.0.0.1:{port}/sign-in", content=endless())

    assert answer.status_code == 413
    assert "text/html" in answer.headers["content-type"]
    assert seen.read <= STRANGER_BYTES


async def test_a_head_that_does_not_end_is_cut_off_and_others_are_not(seen: Any) -> None:
    async with serving(RequestBodies(seen.app)) as port:
        endless = await head_only(port, "/", *[f"X-{number}: {'y' * 60_000}" for number in range(5)])
        single = await head_only(port, "/" + "a" * 400_000)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            long = {"X-Long": "y" * (MAX_HEAD_BYTES // 2)}
            kept = [await client.post("/", content=b"x" * 50_000, headers=long) for _ in range(4)]  # one connection

    assert (endless, single) == (431, 431)
    assert {answer.status_code for answer in kept} == {200}


@given(sizes=st.lists(st.integers(0, 400), max_size=12), limit=st.integers(0, 900), declared=st.booleans())
def test_an_application_never_reads_more_than_the_limit(sizes: list[int], limit: int, declared: bool) -> None:
    chunks = [{"type": "http.request", "body": b"x" * size, "more_body": True} for size in sizes]
    messages = iter([*chunks, {"type": "http.request", "body": b"", "more_body": False}])
    answers: list[Any] = []
    read = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal read
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            read, more = read + len(message["body"]), message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive() -> Any:
        return next(messages, {"type": "http.disconnect"})

    async def send(message: Any) -> None:
        answers.append(message)

    headers = [(b"content-length", str(sum(sizes)).encode()) if declared else (b"transfer-encoding", b"chunked")]
    scope = {"type": "http", "method": "POST", "path": "/x", "headers": headers, "query_string": b""}
    with pytest.MonkeyPatch.context() as patch:
        chosen = BodyLimit(path="*", limit=limit, is_open=True, content="")
        patch.setattr(request_bodies, "body_limit", lambda method, path: chosen)
        asyncio.run(RequestBodies(app)(scope, receive, send))

    fits = sum(sizes) <= limit
    assert [one["status"] for one in answers if one["type"] == "http.response.start"] == [200 if fits else 413]
    assert read == sum(sizes) if fits else read <= limit


@pytest.mark.django_db(transaction=True)
async def test_only_known_callers_send_more_than_strangers_may() -> None:
    def prepare() -> tuple[str, str]:
        user = make_admin()
        client = Client()
        client.force_login(user)
        return api_key_create(user=user, name="bodies")[1], client.cookies["sessionid"].value

    key, session = await sync_to_async(prepare)()
    content = json.dumps({"queries": ["?"], "system_prompt": "x" * STRANGER_BYTES, "none": 1}).encode()
    json_type = {"Content-Type": "application/json"}
    async with (
        serving(application) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client,
    ):
        lines = (f"Content-Length: {50 * MIB}", "Content-Type: multipart/form-data; boundary=x")
        assert await head_only(port, DOCUMENTS, *lines) == 401
        assert await head_only(port, BULK, "Transfer-Encoding: chunked") == 401
        assert await head_only(port, DOCUMENTS, *lines, "Authorization: Bearer no") == 401
        upload = "/admin/knowledge/document/upload/"
        assert await head_only(port, upload, *lines) == 302
        answers = [
            await client.post("/api/v1/rag/batch", content=content, headers={**json_type, **who})
            for who in ({}, {"Authorization": f"Bearer {key}"}, {"Cookie": f"sessionid={session}"})
        ]

    assert [answer.status_code for answer in answers] == [401, 422, 403]  # the last: without the token of its page
    assert answers[0].headers["www-authenticate"] == "Bearer"
    assert answers[0].json()["error"]["code"] == "not_authenticated"


def test_every_address_has_one_limit_and_strangers_a_small_one() -> None:
    assert BODY_LIMITS[-1].path == "*"
    assert all(limit.limit_bytes <= 2 * MIB for limit in BODY_LIMITS if limit.is_open)
    assert body_limit("GET", DOCUMENTS).limit_bytes == STRANGER_BYTES
    assert body_limit("POST", "/v1/chat/completions").limit_bytes == body_limits.LONG_JSON_BYTES
    for number, limit in enumerate(BODY_LIMITS):  # none stands behind one that covers all of it
        probe = limit.path.replace("*", "x")
        assert next(one for one in BODY_LIMITS if one.covers(probe)) is BODY_LIMITS[number]
