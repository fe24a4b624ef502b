"""The HTTP protocol of the web server: uvicorn's with httptools, and a limit on the head of a request.

httptools keeps whatever comes before the end of the head; without a limit one connection could fill the memory.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024  # address and headers; what h11 allows, too
REFUSAL = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class LimitedHeadProtocol(HttpToolsProtocol):
    """Closes a connection whose request has not ended its head within MAX_HEAD_BYTES."""

    _head_bytes = 0
    _is_in_head = True

    def data_received(self, data: bytes) -> None:
        """Data that comes while a head is read counts towards it."""
        if self._is_in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        transport: asyncio.Transport = self.transport
        if self._is_in_head and self._head_bytes > MAX_HEAD_BYTES and not transport.is_closing():
            transport.write(REFUSAL)
            transport.close()

    def on_headers_complete(self) -> None:
        self._is_in_head, self._head_bytes = False, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head = True
        super().on_message_complete()
