"""The HTTP protocol of the web server: uvicorn's with httptools, and limits on what strangers may keep open.

httptools keeps whatever comes before the end of the head; without a limit one connection could fill the memory. uvicorn
limits how long a connection may be idle between two requests, not how long a head, a body or the reading of an answer
may take (`ragsite.connection_limits`).
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.utils import get_remote_addr

from ragsite.connection_limits import ConnectionLimits, ConnectionWatch, Progress, watch_of
from ragsite.env import env

MAX_HEAD_BYTES = 64 * 1024  # address and headers; what h11 allows, too


def _refusal(status: str, *headers: str) -> bytes:
    lines = (f"HTTP/1.1 {status}", *headers, "connection: close", "content-length: 0", "", "")
    return "\r\n".join(lines).encode("ascii")


HEAD_TOO_LARGE = _refusal("431 Request Header Fields Too Large")
TOO_SLOW = _refusal("408 Request Timeout")
TOO_MANY = _refusal("503 Service Unavailable", "retry-after: 5")


def site_limits() -> ConnectionLimits:
    """As the environment says; connections of one address are shared out to the web processes."""
    an_address = -(-env.CONNECTIONS_PER_ADDRESS // env.WEB_PROCESSES)
    return ConnectionLimits(
        head_seconds=env.REQUEST_HEAD_SECONDS,
        window_seconds=env.REQUEST_STALL_SECONDS,
        body_bytes_per_second=env.REQUEST_BYTES_PER_SECOND,
        an_address=an_address,
        trusted=env.TRUSTED_PROXIES,
        sweep_seconds=min(1.0, env.REQUEST_HEAD_SECONDS / 4),
    )


class LimitedProtocol(HttpToolsProtocol):
    """Closes connections whose head is larger than MAX_HEAD_BYTES, and those beyond `ConnectionLimits`."""

    _head_bytes = 0
    _is_in_head = True
    _is_counted = False
    _address = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Counts a new connection for its address; one beyond the limit gets 503 and is closed."""
        super().connection_made(transport)
        watch = self._watch()
        self._progress = Progress(watch.limits)
        self._progress.head_started(self.loop.time())
        peer = get_remote_addr(transport)
        self._address = peer[0] if peer else ""
        self._is_counted = watch.add(self, self._address)
        if not self._is_counted:
            transport.write(TOO_MANY)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Also of a connection that a WebSocket took over, see `handle_websocket_upgrade`."""
        self._leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Data that comes while a head is read counts towards it, other data towards the body."""
        transport: asyncio.Transport = self.transport
        if transport.is_closing():
            return
        if self._is_in_head:
            self._head_bytes += len(data)
            self._progress.head_started(self.loop.time())
        else:
            self._progress.window_bytes += len(data)
        super().data_received(data)
        if self._is_in_head and self._head_bytes > MAX_HEAD_BYTES and not transport.is_closing():
            transport.write(HEAD_TOO_LARGE)
            transport.close()

    def on_headers_complete(self) -> None:
        self._is_in_head, self._head_bytes = False, 0
        self._progress.head_ended(self.loop.time())
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head = True
        self._progress.body_ended()
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """The connection still counts for its address until the WebSocket ends."""
        self._watch().release(self)
        super().handle_websocket_upgrade()
        protocol: Any = self.transport.get_protocol()
        ended = protocol.connection_lost

        def connection_lost(exc: Exception | None) -> None:
            self._leave()
            ended(exc)

        protocol.connection_lost = connection_lost

    # ── as the watch sees it ────────────────────────────────────────────────────────────────────

    def fault(self, now: float) -> str:
        """See ConnectionLimits."""
        transport: asyncio.Transport = self.transport
        unsent = transport.get_write_buffer_size()
        if transport.is_closing() and not unsent:
            return ""
        return self._progress.fault(now, unsent_bytes=unsent, is_paused=self.flow.read_paused)

    def end(self, fault: str) -> None:
        """Sends the error if no response has begun, and closes the connection."""
        transport: asyncio.Transport = self.transport
        is_answering = self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        if fault == "answer" or is_answering or transport.is_closing():
            transport.abort()
            return
        if fault == "body" or self._head_bytes:  # a connection without a request is closed without a word
            transport.write(TOO_SLOW)
        transport.close()

    def _watch(self) -> ConnectionWatch:
        return watch_of(self.loop, site_limits)

    def _leave(self) -> None:
        watch = self._watch()
        watch.release(self)
        if self._is_counted:
            self._is_counted = False
            watch.forget(self._address)
