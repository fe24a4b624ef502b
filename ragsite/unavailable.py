"""Answers WebSocket handshakes with 503 while the database or Redis is unavailable."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ragsite.errors import RETRY_AFTER_SECONDS, is_outage

logger = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

REFUSAL: dict[str, Any] = {
    "type": "websocket.http.response.start",
    "status": 503,
    "headers": [(b"retry-after", str(RETRY_AFTER_SECONDS).encode()), (b"content-length", b"0")],
}


class RefusedHandshakes:
    """An ASGI application in front of another one that answers WebSockets.

    What goes wrong before the connection is accepted is answered with 503 where a service is away; the consumer tells
    what goes wrong afterwards.
    """

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        is_answered = False

        async def noting(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        try:
            await self._application(scope, receive, noting)
        except Exception as error:
            if is_answered or not is_outage(error):
                raise
            logger.warning("a WebSocket was refused: %s", error)
            if "websocket.http.response" in scope.get("extensions", {}):
                await send({**REFUSAL})
                await send({"type": "websocket.http.response.body", "body": b""})
            else:
                await send({"type": "websocket.close", "code": 1013})  # try again later
