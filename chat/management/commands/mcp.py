"""`manage.py mcp --stdio` or `--http`: the tools of the Model Context Protocol."""

from __future__ import annotations

import asyncio
import os
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from django.core.management.base import BaseCommand, CommandError

from accounts.errors import NotAuthenticatedError
from chat.mcp.server import McpEndpoint, serve_stdio, serving

KEY_VARIABLE = "RAGSITE_KEY"


class Command(BaseCommand):
    help = f"Serve the MCP tools: --stdio with the API key in {KEY_VARIABLE}, or --http with a key in every request."

    def add_arguments(self, parser: ArgumentParser) -> None:
        how = parser.add_mutually_exclusive_group(required=True)
        how.add_argument("--stdio", action="store_true", help="standard input and output")
        how.add_argument("--http", action="store_true", help="streamable HTTP at /mcp")
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=int, default=8765)

    def handle(self, *, stdio: bool, host: str, port: int, **options: Any) -> None:
        if stdio:
            self._stdio(os.environ.get(KEY_VARIABLE, ""))
        else:
            uvicorn.run(application(), host=host, port=port, log_config=None, lifespan="on")

    def _stdio(self, key: str) -> None:
        if not key:
            raise CommandError(f"Set {KEY_VARIABLE} to an API key.")
        try:
            asyncio.run(serve_stdio(key))
        except NotAuthenticatedError:
            raise CommandError(f"{KEY_VARIABLE} holds no valid API key.") from None


def application() -> Callable[..., Awaitable[None]]:
    """An ASGI application with nothing but `/mcp`."""
    endpoint = McpEndpoint()

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(endpoint, receive, send)
        elif scope["type"] == "http":
            await endpoint.before(_nothing_here)(scope, receive, send)

    return serve


async def _nothing_here(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


async def _lifespan(endpoint: McpEndpoint, receive: Any, send: Any) -> None:
    await receive()
    async with serving(), endpoint.running():
        await send({"type": "lifespan.startup.complete"})
        await receive()
    await send({"type": "lifespan.shutdown.complete"})
