"""A session of `requests` that connects only where a source may, also after redirects."""

from __future__ import annotations

import ssl
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import certifi
import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from knowledge.connectors.base import Access
from ragcore.errors import UrlNotAllowedError

TIMEOUT = (20, 120)  # seconds to connect, and between two pieces of an answer
REDIRECTS = 5
AGENT = "Ragsite"
_PIECE_BYTES = 256 * 1024


def session_of(access: Access) -> requests.Session:
    """Knows no proxies and no passwords of this machine. Its requests raise UrlNotAllowedError, too."""
    session = requests.Session()
    session.trust_env = False
    session.max_redirects = REDIRECTS
    session.headers.update({"User-Agent": AGENT, "Accept-Encoding": "identity"})
    for scheme in ("http://", "https://"):
        session.mount(scheme, _CheckedAdapter(access))
    return session


def body_read(reply: requests.Response, *, most_bytes: int) -> bytes:
    """The content of a streamed reply, cut behind `most_bytes` + 1."""
    content = bytearray()
    for piece in reply.iter_content(_PIECE_BYTES):
        content += piece
        if len(content) > most_bytes:
            break
    reply.close()
    return bytes(content[: most_bytes + 1])


class _CheckedAdapter(HTTPAdapter):
    """Asks before each request, each redirect among them; and looks where a new connection has led."""

    def __init__(self, access: Access) -> None:
        self._access = access
        retries = urllib3.Retry(total=2, redirect=0, status_forcelist=(502, 503, 504), backoff_factor=0.5)
        super().__init__(max_retries=retries)

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options, ssl_context=_certificates())
        self.poolmanager.pool_classes_by_scheme = _pools(self._access)

    def send(self, request: requests.PreparedRequest, *arguments: Any, **options: Any) -> requests.Response:
        parts = urlsplit(request.url or "")
        self._access.host_check(str(parts.hostname or ""), parts.port or (443 if parts.scheme == "https" else 80))
        return super().send(request, *arguments, **options)


def _pools(access: Access) -> dict[str, type[HTTPConnectionPool]]:
    """Pools whose connections end where a name leads to a forbidden address meanwhile (DNS rebinding)."""

    def peer_check(connection: HTTPConnection) -> None:
        address = connection.sock.getpeername()[0]
        if not access.policy.permits(connection.host, address):
            connection.close()
            raise UrlNotAllowedError(host=connection.host)

    class Plain(HTTPConnection):
        def connect(self) -> None:
            super().connect()
            peer_check(self)

    class Secure(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            peer_check(self)

    plain = type("PlainPool", (HTTPConnectionPool,), {"ConnectionCls": Plain})
    secure = type("SecurePool", (HTTPSConnectionPool,), {"ConnectionCls": Secure})
    return {"http": plain, "https": secure}


@cache
def _certificates() -> ssl.SSLContext:
    """The operating system's authorities, which operators extend (SSL_CERT_FILE), and those of certifi."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context
