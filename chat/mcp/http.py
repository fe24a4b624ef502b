"""The server over HTTP: one address, an API key with every request."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http.request import split_domain_port, validate_host
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from accounts.errors import NotAuthenticatedError
from chat.executors import run_db
from chat.mcp.callers import CALLER, caller_of_key, caller_of_request
from chat.mcp.schemas import UNAVAILABLE
from chat.mcp.server import mcp_server

PATH = "/mcp"
MAX_BODY_BYTES = 256 * 1024  # a question has 2000 characters

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class McpEndpoint:
    """An ASGI application for `/mcp` (streamable HTTP), and what surrounds it in a web process.

    Nothing is kept between two requests, so any process may answer any of them.
    """

    def __init__(self) -> None:
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answers requests inside of this context only, which a process enters at its start."""
        server = mcp_server(caller_of_request)
        # browsers cannot be tricked into calls, since every one needs the key; hosts are checked below
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        server.streamable_http_app(
            stateless_http=True, transport_security=security, max_request_body_size=MAX_BODY_BYTES
        )
        async with server.session_manager.run():
            self._manager = server.session_manager
            try:
                yield
            finally:
                self._manager = None

    def before(self, other: Application) -> Application:
        """This endpoint at its address, and the other application everywhere else."""

        async def routed(scope: Scope, receive: Receive, send: Send) -> None:
            is_ours = scope["type"] == "http" and scope["path"].rstrip("/") == PATH
            await (self if is_ours else other)(scope, receive, send)

        return routed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._manager is None:
            await _send_error(send, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", UNAVAILABLE)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if not _is_our_host(headers.get("host", "")):
            await _send_error(send, HTTPStatus.BAD_REQUEST, "malformed", "The request cannot be understood.")
            return
        try:
            caller = await run_db(caller_of_key, _key(headers.get("authorization", "")))
        except NotAuthenticatedError as error:
            await _send_error(send, HTTPStatus.UNAUTHORIZED, error.code, error.message)
        except (OperationalError, InterfaceError):
            await _send_error(send, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", UNAVAILABLE)
        else:
            await self._manager.handle_request({**scope, CALLER: caller}, receive, send)


def _key(header: str) -> str:
    """The key of an `Authorization` header; empty if there is none, which is nobody's key."""
    kind, _, key = header.partition(" ")
    return key.strip() if kind.lower() == "bearer" else ""


def _is_our_host(host: str) -> bool:
    allowed = settings.ALLOWED_HOSTS or (["localhost", "127.0.0.1", "[::1]"] if settings.DEBUG else [])
    domain, _port = split_domain_port(host)
    return bool(domain) and validate_host(domain, allowed)


async def _send_error(send: Send, status: HTTPStatus, code: str, message: str) -> None:
    """An error in the form of the HTTP API."""
    body = json.dumps({"error": {"code": code, "message": message, "details": []}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers.append((b"retry-after", b"2"))
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": body})
