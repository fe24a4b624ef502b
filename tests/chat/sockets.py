"""A WebSocket client for a consumer, without a server (the one of channels.testing wants daphne)."""

from __future__ import annotations

import json
from typing import Any

from asgiref.testing import ApplicationCommunicator

from accounts.models import User
from chat.consumers import ChatConsumer

LIMIT_SECONDS = 20


class Socket(ApplicationCommunicator):
    """Speaks JSON with the chat page's consumer."""

    def __init__(self, user: User | None, *, language: str = "en", session: Any = None) -> None:
        headers = [(b"accept-language", language.encode())]
        scope = {"type": "websocket", "path": "/ws/chat", "headers": headers, "query_string": b"", "subprotocols": []}
        super().__init__(ChatConsumer.as_asgi(), {**scope, "user": user, "session": session})

    async def connect(self) -> None:
        await self.send_input({"type": "websocket.connect"})
        assert (await self.receive_output(LIMIT_SECONDS))["type"] == "websocket.accept"

    async def send_text(self, text: str) -> None:
        await self.send_input({"type": "websocket.receive", "text": text})

    async def send(self, **message: Any) -> None:
        await self.send_text(json.dumps(message))

    async def receive(self) -> dict[str, Any]:
        return json.loads((await self.receive_output(LIMIT_SECONDS))["text"])

    async def until(self, kind: str) -> list[dict[str, Any]]:
        """Messages up to and with the first of a kind."""
        found: list[dict[str, Any]] = []
        while not found or found[-1]["type"] != kind:
            found.append(await self.receive())
        return found

    async def disconnect(self) -> None:
        await self.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wait(LIMIT_SECONDS)
