"""Connection URLs to Django's dictionaries."""

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


def database_from_url(url: str) -> dict[str, Any]:
    """`postgresql://user:password@host:port/name?sslmode=verify-full` as Django wants it.

    `OPTIONS` has what stands behind the question mark, for libpq; a host there takes the place of the other one.
    """
    parts = urlsplit(url)
    values = {
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
    }
    query = dict(parse_qsl(parts.query))
    host = query.pop("host", values["HOST"])
    return {**values, "HOST": host, "OPTIONS": query}
