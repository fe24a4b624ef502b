"""Origin check for WebSocket handshakes: the site's own pages and CSRF_TRUSTED_ORIGINS.

The browser sends the session's cookie with every handshake, from whichever page it comes, and cookies know no ports: a
page of another program on the same machine would ask as the person. So the origin is compared as a whole, as for forms:
scheme, host and port. Scheme and host are those of the request; https counts from TRUSTED_PROXIES only (uvicorn).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.utils.http import is_same_domain

DEFAULT_PORTS = {"http": 80, "https": 443}
HTTP_OF = {"ws": "http", "wss": "https", "http": "http", "https": "https"}

Scope = MutableMapping[str, Any]
Origin = tuple[str, str, int]  # scheme, host and port, in lower case
Application = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


class SameOriginOnly:
    """An ASGI application for WebSockets in front of another one: 403 for handshakes of foreign pages.

    A handshake without `Origin` is refused, too: browsers always send it.
    """

    def __init__(self, application: Application) -> None:
        self._application = application

    async def __call__(
        self, scope: Scope, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        if is_own_page(scope):
            await self._application(scope, receive, send)
        else:
            await WebsocketDenier()(scope, receive, send)


def is_own_page(scope: Scope) -> bool:
    """Whether the page that opens a WebSocket is of this site, or of an origin that the operator trusts."""
    origins = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
    hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
    if len(origins) != 1 or len(hosts) != 1 or (origin := origin_of(origins[0])) is None:
        return False
    domain, _port = split_domain_port(hosts[0])
    if not domain or not validate_host(domain, settings.ALLOWED_HOSTS):
        return False
    own_origin = origin_of(f"{HTTP_OF.get(scope.get('scheme', 'ws'), 'http')}://{hosts[0]}")
    return origin == own_origin or any(_matches(origin, trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS)


def origin_of(text: str) -> Origin | None:
    """`http://host[:port]` in its parts; None for anything else, such as `null`."""
    with suppress(ValueError):  # brackets, or a port that is none
        parts = urlsplit(text)
        port = DEFAULT_PORTS.get(parts.scheme) if parts.port is None else parts.port
        is_bare = parts.username is None and not (parts.path or parts.query or parts.fragment)
        if port is not None and parts.scheme in DEFAULT_PORTS and parts.hostname and is_bare:
            return parts.scheme, parts.hostname, port
    return None


def _matches(origin: Origin, trusted: str) -> bool:
    """`https://*.example.com` stands for its subdomains, as for forms."""
    allowed = origin_of(trusted.replace("://*.", "://.", 1))
    if allowed is None or "://*." not in trusted:
        return origin == allowed
    return (origin[0], origin[2]) == (allowed[0], allowed[2]) and is_same_domain(origin[1], allowed[1])
