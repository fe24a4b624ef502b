"""The assistant as a tool of other agents: a server of the Model Context Protocol."""

from chat.mcp.server import McpEndpoint, serve_stdio

__all__ = ["McpEndpoint", "serve_stdio"]
