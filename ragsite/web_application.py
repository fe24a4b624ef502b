"""The application of a web process: HTTP, WebSockets, and what happens at start and stop. Django is set up before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack
from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django import db
from django.core.asgi import get_asgi_application
from django.core.signals import request_started

from chat.mcp.server import McpEndpoint
from chat.routing import websocket_urlpatterns
from ragsite.lifespan import shut_down, start_up
from ragsite.origins import SameOriginOnly
from ragsite.request_bodies import RequestBodies
from ragsite.unavailable import RefusedHandshakes

Message = MutableMapping[str, Any]

http: Any = get_asgi_application()
mcp = McpEndpoint()  # its requests do not pass through Django

# Each request has a thread of its own for what is synchronous in it. When it begins there is no connection in there.
request_started.disconnect(db.close_old_connections)
request_started.disconnect(db.reset_queries)


async def lifespan(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """The ASGI lifespan protocol: once a process."""
    async with AsyncExitStack() as stack:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await start_up()
                await stack.enter_async_context(mcp.running())
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await stack.aclose()
                await shut_down()
                await send({"type": "lifespan.shutdown.complete"})
                return


application = ProtocolTypeRouter(
    {
        "http": RequestBodies(mcp.before(http)),
        "websocket": RefusedHandshakes(SameOriginOnly(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)))),
        "lifespan": lifespan,
    }
)
