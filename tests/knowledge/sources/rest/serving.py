"""A web server of this machine that answers as a system does."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request. `path`: decoded; `raw_path`: as it came; header names in lower case."""

    method: str
    path: str
    raw_path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    base: str

    @property
    def url(self) -> str:
        return self.base + self.raw_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


Answer = Callable[[Call], Any]  # a Reply, bytes, or what becomes JSON


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    """The address of a server that gives what `answer` makes of each call."""

    class Handler(BaseHTTPRequestHandler):
        def handle_call(self) -> None:
            parts = urlsplit(self.path)
            call = Call(
                method=self.command,
                path=unquote(parts.path),
                raw_path=self.path,
                query=dict(parse_qsl(parts.query, keep_blank_values=True)),
                headers={name.lower(): value for name, value in self.headers.items()},
                body=self.rfile.read(int(self.headers.get("Content-Length", 0))),
                base=f"http://127.0.0.1:{self.server.server_address[1]}",  # type: ignore[index,str-bytes-safe]
            )
            reply = answer(call)
            if isinstance(reply, bytes):
                reply = Reply(body=reply, headers={"Content-Type": "application/octet-stream"})
            if not isinstance(reply, Reply):
                reply = Reply(body=json.dumps(reply).encode(), headers={"Content-Type": "application/json"})
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body)

        do_GET = do_POST = handle_call

        def log_message(self, *values: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
