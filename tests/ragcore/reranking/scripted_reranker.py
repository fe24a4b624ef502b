"""A real HTTP server on the loopback that speaks the protocols of rerankers and does what a test tells it to."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the server does with one request."""

    status: int = 200
    body: bytes | None = None  # this instead of scores
    hangs: bool = False  # until the test is over
    drips: bool = False  # a byte now and then, until the test is over
    hangs_up: bool = False  # closes the connection without an answer


@dataclass(frozen=True)
class Recorded:
    path: str
    body: dict[str, Any]
    authorization: str | None


@dataclass
class ScriptedReranker:
    """Replies in order, then with scores; the score of a text comes from its characters."""

    url: str = ""
    default: Reply = Reply()
    requests: list[Recorded] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    _script: deque[Reply] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def script(self, *replies: Reply) -> None:
        self._script.extend(replies)

    def next_reply(self, request: Recorded) -> Reply:
        with self._lock:
            self.requests.append(request)
            return self._script.popleft() if self._script else self.default


def probability(text: str) -> float:
    """Between 0 and 1."""
    return (sum(text.encode()) % 997 + 1) / 999


def answer_to(body: dict[str, Any]) -> Any:
    """In the form of the request's protocol, back to front to test the order."""
    if "texts" in body:
        rows = [{"index": i, "score": probability(t) * 10 - 5} for i, t in enumerate(body["texts"])]
        return rows[::-1]
    rows = [{"index": i, "relevance_score": probability(t)} for i, t in enumerate(body["documents"])]
    return {"id": "r1", "results": rows[::-1]}


@contextmanager
def serving() -> Iterator[ScriptedReranker]:
    """A running server; it stops with the block."""
    scripted = ScriptedReranker()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            reply = scripted.next_reply(Recorded(self.path, body, self.headers.get("Authorization")))
            if reply.hangs:
                scripted.over.wait(30)
            if reply.hangs or reply.hangs_up:
                self.close_connection = True
                return
            content = json.dumps(answer_to(body)).encode() if reply.body is None else reply.body
            self.send_response(reply.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(10**6 if reply.drips else len(content)))
            self.end_headers()
            try:
                while reply.drips and not scripted.over.wait(0.01):
                    self.wfile.write(b" ")
                    self.wfile.flush()
                self.wfile.write(content)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client went away, which tests do on purpose

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the test output quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # clients go away on purpose
    scripted.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield scripted
    finally:
        scripted.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
