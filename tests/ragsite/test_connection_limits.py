"""Strangers who keep connections open without saying anything, on real sockets, with short limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import uvicorn
import websockets

from ragsite import http_protocol
from ragsite.connection_limits import ConnectionLimits
from ragsite.http_protocol import LimitedProtocol

LIMIT_SECONDS = 0.4
RATE = 400.0  # bytes a second
LIMITS = ConnectionLimits(
    head_seconds=LIMIT_SECONDS, window_seconds=LIMIT_SECONDS, body_bytes_per_second=RATE, sweep_seconds=0.05
)
STRANGERS = 50
BODY = 2000  # bytes of an upload over a slow line
BIG_ANSWER = b"x" * (16 * 1024 * 1024)


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Reads a body and answers with its length; `/stream` is silent for long, `/big` sends much, sockets echo."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] != "websocket.disconnect":
            if "text" in message:
                await send({"type": "websocket.send", "text": message["text"]})
        return
    size = 0
    while (message := await receive())["type"] == "http.request":
        size += len(message["body"])
        if not message.get("more_body"):
            break
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["path"] == "/stream":
        await send({"type": "http.response.body", "body": b"first\n", "more_body": True})
        await asyncio.sleep(3 * LIMIT_SECONDS)
    body = BIG_ANSWER if scope["path"] == "/big" else f"last {size}".encode()
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serving(monkeypatch: pytest.MonkeyPatch, limits: ConnectionLimits = LIMITS) -> AsyncIterator[int]:
    """A real server with these limits; its port."""
    monkeypatch.setattr(http_protocol, "site_limits", lambda: limits)
    config = uvicorn.Config(
        application, port=0, log_level="error", lifespan="off", http=LimitedProtocol, ws="websockets-sansio"
    )
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


async def said_until_closed(port: int, *first: bytes) -> bytes:
    """All that the server says to whoever sends this and waits, until it closes the connection.

    Each piece after the first is sent when the server has answered the one before.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    said = b""
    try:
        for number, piece in enumerate(first):
            if number:
                said += await asyncio.wait_for(reader.read(1024), 10)
            writer.write(piece)
        return said + await asyncio.wait_for(reader.read(), 20 * LIMIT_SECONDS)
    finally:
        writer.close()


async def is_closed_while_dripping(port: int, head: bytes, *, pause: float) -> bool:
    """Whether the server closes the connection of somebody who sends a byte now and then."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head)

    async def drip() -> None:
        while not writer.is_closing():
            writer.write(b"x")
            await asyncio.sleep(pause)

    dripping = asyncio.create_task(drip())
    try:
        with suppress(ConnectionError):  # bytes that were on their way reset what the server has closed
            await asyncio.wait_for(reader.read(), 20 * LIMIT_SECONDS)
        return True
    except TimeoutError:
        return False
    finally:
        dripping.cancel()
        writer.close()


HALF_HEAD = b"GET / HTTP/1.1\r\nHost: x\r\nX-Half"
HALF_BODY = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf"
WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.asyncio
async def test_nobody_keeps_a_connection_without_making_progress(monkeypatch):
    async with serving(monkeypatch) as port:
        waiting = [said_until_closed(port, first) for first in (b"", HALF_HEAD, HALF_BODY) for _ in range(STRANGERS)]
        drips = [is_closed_while_dripping(port, half, pause=LIMIT_SECONDS / 10) for half in (HALF_HEAD, HALF_BODY)]
        said, closed = await asyncio.gather(asyncio.gather(*waiting), asyncio.gather(*drips))
        second = await said_until_closed(port, WHOLE, HALF_HEAD)

    idle, head, body = said[:STRANGERS], said[STRANGERS : 2 * STRANGERS], said[2 * STRANGERS :]
    assert set(idle) == {b""}
    assert all(answer.startswith(b"HTTP/1.1 408") for answer in (*head, *body))
    assert closed == [True, True]
    assert second.startswith(b"HTTP/1.1 200")
    assert b"HTTP/1.1 408" in second


@pytest.mark.full
@pytest.mark.asyncio
async def test_an_answer_that_nobody_reads_is_given_up(monkeypatch):
    async with serving(monkeypatch) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.sleep(6 * LIMIT_SECONDS)  # nothing is read meanwhile: that is what is tested
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await asyncio.wait_for(reader.readexactly(len(BIG_ANSWER)), 20 * LIMIT_SECONDS)
        writer.close()


@pytest.mark.asyncio
async def test_slow_uploads_silent_streams_and_sockets_go_on(monkeypatch):
    async def upload(port: int) -> bytes:
        """At twice the least rate, several times as long as any limit."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {BODY}\r\n\r\n".encode())
        for _ in range(BODY // 100):
            writer.write(b"x" * 100)
            await asyncio.sleep(100 / (2 * RATE))
        return await asyncio.wait_for(reader.read(), 10)

    async def talk(port: int) -> str:
        async with websockets.connect(f"ws://127.0.0.1:{port}/", proxy=None) as socket:
            await asyncio.sleep(3 * LIMIT_SECONDS)
            await socket.send("still here")
            return await socket.recv()

    async with serving(monkeypatch) as port:
        stream = said_until_closed(port, b"GET /stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        uploaded, streamed, echoed = await asyncio.gather(upload(port), stream, talk(port))

    assert f"last {BODY}".encode() in uploaded
    assert b"first" in streamed
    assert b"last 0" in streamed
    assert echoed == "still here"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("trusted", "expected"),
    [((), [b"503", b"503", b"200", b"200", b"200"]), (("127.0.0.0/8",), [b"200"] * 5)],
    ids=["a stranger", "a proxy"],
)
async def test_one_address_has_so_many_connections_and_a_proxy_as_many_as_it_needs(monkeypatch, trusted, expected):
    limits = ConnectionLimits(head_seconds=5, window_seconds=5, an_address=2, trusted=trusted)

    async def status(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(WHOLE)
        return (await reader.readline())[9:12]

    async with serving(monkeypatch, limits) as port:
        pairs = [await asyncio.open_connection("127.0.0.1", port) for _ in range(4)]
        found = [await status(*pair) for pair in reversed(pairs)]
        for _, writer in pairs:
            writer.close()
            await writer.wait_closed()
        later = await asyncio.open_connection("127.0.0.1", port)
        found.append(await status(*later))
        later[1].close()

    assert found == expected
