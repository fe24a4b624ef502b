"""HTTP clients of model servers that send a request again where a kept connection turns out to be closed.

A server closes idle connections when it likes, also in the moment in which we use one. Then nothing was answered, and
nothing was begun on a connection of ours: the request goes out again over a fresh connection, and a failure there
counts.
"""

from __future__ import annotations

from typing import Any

import httpx

MOST_TRIES = 20  # kept connections that may be closed at the same time
LOST = (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError)


class _Trace:
    """What httpcore says of one try: whether it connected, and whether an answer began."""

    def __init__(self) -> None:
        self.is_fresh = self.is_answered = False

    def note(self, event: str, info: Any) -> None:
        self.is_fresh = self.is_fresh or event.startswith("connection.connect_")
        self.is_answered = self.is_answered or event.endswith("receive_response_headers.complete")

    async def anote(self, event: str, info: Any) -> None:
        self.note(event, info)

    @property
    def may_repeat(self) -> bool:
        return not self.is_fresh and not self.is_answered


class ReconnectingClient(httpx.Client):
    """httpx.Client; see the module. Raises what that raises."""

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """As httpx.Client.send, over a fresh connection where a kept one was closed."""
        for _ in range(MOST_TRIES):
            trace = _Trace()
            request.extensions = {**request.extensions, "trace": trace.note}
            try:
                return super().send(request, **options)
            except LOST:
                if not trace.may_repeat:
                    raise
        return super().send(request, **options)


class ReconnectingAsyncClient(httpx.AsyncClient):
    """httpx.AsyncClient; see the module. Raises what that raises."""

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """As httpx.AsyncClient.send, over a fresh connection where a kept one was closed."""
        for _ in range(MOST_TRIES):
            trace = _Trace()
            request.extensions = {**request.extensions, "trace": trace.anote}
            try:
                return await super().send(request, **options)
            except LOST:
                if not trace.may_repeat:
                    raise
        return await super().send(request, **options)
