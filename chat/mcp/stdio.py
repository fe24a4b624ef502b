"""The server over standard input and output, for an agent on the same machine."""

from __future__ import annotations

from chat.executors import run_db
from chat.mcp.callers import always, caller_of_key
from chat.mcp.life import prepared
from chat.mcp.server import mcp_server


async def serve_stdio(key: str) -> None:
    """Answer until the agent closes its end. Raises NotAuthenticatedError for a key that is nobody's."""
    await run_db(caller_of_key, key)
    async with prepared():
        await mcp_server(always(key)).run_stdio_async()
