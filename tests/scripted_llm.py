"""A real HTTP server on the loopback that speaks the OpenAI protocol and does what a test tells it to."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the server does with one request."""

    status: int = 200
    texts: tuple[str, ...] = ("ok",)  # the pieces of a chat answer
    thoughts: tuple[str, ...] = ()  # pieces of reasoning before them, in a field of their own
    cut_after: int | None = None  # close the connection after so many pieces, without a finish reason
    finish: bool = True  # say why the answer ended
    finish_reason: str = "stop"  # what is then said
    headers: tuple[tuple[str, str], ...] = ()  # besides the usual ones, where the body comes at once
    usage: tuple[int, int] | None = (7, 3)  # prompt and completion tokens; None: the server does not report them
    reasoning_tokens: int | None = None  # of the completion; None: the server does not tell them apart
    hold_before: int | None = None  # wait for `release` before this piece (0-based)
    pause_seconds: float = 0.0  # between the pieces of a stream, as of a slow model
    vectors: tuple[tuple[float, ...], ...] | None = None  # an embeddings answer instead of the default ones
    body: bytes | None = None  # this body instead of all that
    failure: Any = None  # what a status of failure comes with, as JSON; bytes: a page


@dataclass(frozen=True)
class Recorded:
    """A request as the server saw it."""

    path: str
    body: dict[str, Any]
    authorization: str | None
    headers: dict[str, str] = field(default_factory=dict)  # all of them, by their names in lower case


@dataclass
class ScriptedLLM:
    """Replies in order; when the script is over, `respond` answers, or `default`. Records all requests."""

    url: str = ""  # base URL with /v1
    default: Reply = Reply()
    respond: Callable[[Recorded], Reply] | None = None
    dimensions: int = 768
    requests: list[Recorded] = field(default_factory=list)
    fetched: list[Recorded] = field(default_factory=list)  # by GET
    release: threading.Event = field(default_factory=threading.Event)
    pages: dict[str, Any] = field(default_factory=dict)  # path -> what GET brings: JSON, or a Reply
    _script: deque[Reply] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def script(self, *replies: Reply) -> None:
        """Add replies to the script."""
        with self._lock:
            self._script.extend(replies)

    def next_reply(self, request: Recorded) -> Reply:
        """Record a request and take the next reply."""
        with self._lock:
            self.requests.append(request)
            if self._script:
                return self._script.popleft()
            return self.respond(request) if self.respond is not None else self.default


@contextmanager
def serving() -> Iterator[ScriptedLLM]:
    """A running server; it stops with the block."""
    scripted = ScriptedLLM()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(scripted))
    server.daemon_threads = True
    scripted.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield scripted
    finally:
        scripted.release.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(scripted: ScriptedLLM) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = scripted.next_reply(Recorded(self.path, body, self.headers.get("Authorization"), headers))
            try:
                self._answer(reply, body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the client went away, which tests do on purpose

        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            with scripted._lock:
                scripted.fetched.append(Recorded(self.path, {}, self.headers.get("Authorization"), headers))
            page = scripted.pages.get(self.path)
            if page is None:
                self.send_error(501, "Unsupported method ('GET')")
            else:
                self._answer(page if isinstance(page, Reply) else Reply(body=json.dumps(page).encode()), {})

        def _answer(self, reply: Reply, body: dict[str, Any]) -> None:
            if reply.status != 200:
                failure = reply.failure or {"error": {"message": "scripted failure", "type": "scripted"}}
                if isinstance(failure, bytes):
                    self._send(reply.status, failure, reply.headers, kind="text/html")
                else:
                    self._send(reply.status, json.dumps(failure).encode(), reply.headers)
            elif reply.body is not None:
                self._send(200, reply.body)
            elif self.path.endswith("/embeddings"):
                self._json(200, _embeddings(reply, body["input"], scripted.dimensions))
            elif body.get("stream"):
                self._stream(reply, include_usage=bool((body.get("stream_options") or {}).get("include_usage")))
            else:
                self._json(200, _completion(reply))

        def _stream(self, reply: Reply, *, include_usage: bool) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for thought in reply.thoughts:
                self._event(_delta({"role": "assistant", "reasoning_content": thought}, None))
                time.sleep(reply.pause_seconds)
            for number, text in enumerate(reply.texts):
                if reply.hold_before == number:
                    scripted.release.wait(30)
                if reply.cut_after == number:
                    self.close_connection = True
                    self.connection.close()
                    return
                if number and reply.pause_seconds:
                    time.sleep(reply.pause_seconds)
                self._event(_delta({"role": "assistant", "content": text}, None))
            if reply.finish:
                self._event(_delta({}, reply.finish_reason))
            if include_usage and reply.usage:
                self._event({**_delta({}, None), "choices": [], "usage": _usage(reply.usage, reply.reasoning_tokens)})
            self._chunk(b"data: [DONE]\n\n")
            self._chunk(b"")

        def _event(self, data: dict[str, Any]) -> None:
            self._chunk(b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n")

        def _chunk(self, data: bytes) -> None:
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

        def _json(self, status: int, data: dict[str, Any]) -> None:
            self._send(status, json.dumps(data).encode())

        def _send(
            self,
            status: int,
            content: bytes,
            headers: Sequence[tuple[str, str]] = (),
            kind: str = "application/json",
        ) -> None:
            self.send_response(status)
            for name, value in headers:
                self.send_header(name, value)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the test output quiet."""

    return Handler


def _delta(delta: dict[str, str], finish: str | None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": "scripted", "choices": [choice]}


def _completion(reply: Reply) -> dict[str, Any]:
    message = {"role": "assistant", "content": "".join(reply.texts)}
    choice = {"index": 0, "message": message, "finish_reason": reply.finish_reason if reply.finish else None}
    head = {"id": "c1", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
    return {**head, "usage": _usage(reply.usage)} if reply.usage else head


def _usage(tokens: Sequence[int], reasoning: int | None = None) -> dict[str, Any]:
    prompt, completion = tokens
    counted = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return counted if reasoning is None else {**counted, "completion_tokens_details": {"reasoning_tokens": reasoning}}


def _embeddings(reply: Reply, texts: Sequence[str], dimensions: int) -> dict[str, Any]:
    """One vector a text, told apart by the text's length; given back to front to test the order."""
    vectors = reply.vectors
    if vectors is None:
        columns = range(dimensions)
        vectors = tuple(tuple(float(c == len(text) % dimensions) + 0.001 for c in columns) for text in texts)
    rows = [{"object": "embedding", "index": i, "embedding": list(v)} for i, v in enumerate(vectors)]
    return {"object": "list", "model": "scripted", "data": rows[::-1], "usage": _usage((1, 0))}
