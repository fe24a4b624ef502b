"""Connection URLs to Django's dictionaries."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


def database_from_url(url: str) -> dict[str, Any]:
    """`postgresql://user:password@host:port/name` as Django wants it."""
    parts = urlsplit(url)
    values = {
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
    }
    query = dict(parse_qsl(parts.query))
    return {**values, "HOST": query.get("host", values["HOST"])}
