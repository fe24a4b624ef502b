"""Who calls a tool: the user of an API key, with the rights of this moment."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server.mcpserver import Context

from accounts.errors import NotAuthenticatedError
from accounts.selectors import api_key_user, scope_for
from chat.api.auth import Caller
from chat.executors import run_db

CALLER = "ragsite.caller"  # in the ASGI scope of a request

CallerOf = Callable[[Context[Any, Any]], Awaitable[Caller]]


def caller_of_key(key: str) -> Caller:
    """Uses the ORM. Raises NotAuthenticatedError."""
    user = api_key_user(key)
    _ = user.tenant  # read here, where there is a connection
    return Caller(user, scope_for(user))


def caller_of_fixed_key(key: str) -> CallerOf:
    """The same key for every call. It is read again each time, so that a revoked one ends a running server, too."""

    async def caller(context: Context[Any, Any]) -> Caller:
        return await run_db(caller_of_key, key)

    return caller


async def caller_of_request(context: Context[Any, Any]) -> Caller:
    """The caller whom `chat.mcp.http` let in with this very request. Raises NotAuthenticatedError."""
    request = context.request_context.request
    caller = None if request is None else request.scope.get(CALLER)
    if not isinstance(caller, Caller):
        raise NotAuthenticatedError
    return caller
