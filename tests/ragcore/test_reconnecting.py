"""Model servers that close kept connections, on real sockets."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator

import httpx
import pytest

from ragcore.reconnecting import ReconnectingAsyncClient, ReconnectingClient

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


def _receive_request(connection: socket.socket) -> bytes:
    """A request with its whole body: a socket closed over unread bytes resets, which is another failure."""
    request = b""
    while not request.endswith(b"}"):
        part = connection.recv(65536)
        if not part:
            return b""
        request += part
    return request


class Server:
    """Answers the first request of each connection; `then`: what it does with the next one."""

    def __init__(self, then: str) -> None:
        self.then, self.requests, self.connections = then, 0, 0
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}/"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            for number in range(2):
                if not _receive_request(connection):
                    return
                self.requests += 1
                if number and self.then == "closes":  # in the moment in which the client uses it
                    return
                if number or self.then == "dies":
                    connection.sendall(ANSWER[:30] if self.then == "stops" else b"")
                    return
                connection.sendall(ANSWER)


@pytest.fixture
def server(request) -> Iterator[Server]:
    made = Server(request.param)
    yield made
    made.listening.close()


def client(**options) -> ReconnectingClient:
    return ReconnectingClient(trust_env=False, timeout=10, **options)


@pytest.mark.parametrize("server", ["closes"], indirect=True)
def test_a_kept_connection_that_the_server_closes_costs_no_request(server):
    with client() as http:
        answers = [http.post(server.url, json={"n": number}).text for number in range(3)]

    assert answers == ["ok"] * 3
    assert server.connections == 3


@pytest.mark.parametrize("server", ["closes"], indirect=True)
def test_the_asynchronous_client_does_the_same(server):
    async def ask() -> list[str]:
        async with ReconnectingAsyncClient(trust_env=False, timeout=10) as http:
            return [(await http.post(server.url, json={"n": number})).text for number in range(3)]

    assert asyncio.run(ask()) == ["ok"] * 3


@pytest.mark.parametrize("server", ["dies"], indirect=True)
def test_a_fresh_connection_that_fails_is_a_failure(server):
    with client() as http, pytest.raises(httpx.RemoteProtocolError):
        http.post(server.url, json={})

    assert server.requests == 1
