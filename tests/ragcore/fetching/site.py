"""A web site on this machine whose pages are functions."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Answers by the table of its server and notes what was asked."""

    protocol_version = "HTTP/1.1"
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers.items())))
        answer = self.server.pages.get(self.path.partition("?")[0], missing)
        with suppress(OSError):  # the client may leave early
            answer(self)

    def reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Tests are quiet."""


class Site(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, pages: dict[str, Answer]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages = pages
        self.asked: list[tuple[str, dict[str, str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]


@contextmanager
def serving(pages: dict[str, Answer]) -> Iterator[Site]:
    with Site(pages) as site:
        thread = Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()


def missing(handler: Handler) -> None:
    handler.reply(404)


def page(body: bytes = b"<p>text</p>", media_type: str = "text/html", **headers: str) -> Answer:
    return lambda handler: handler.reply(200, body, Content_Type=media_type, **headers)


def moved(place: str, status: int = 302) -> Answer:
    return lambda handler: handler.reply(status, Location=place)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
