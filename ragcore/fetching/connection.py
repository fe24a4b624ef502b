"""One request over a connection to a checked address, with limits on time and bytes."""

from __future__ import annotations

import ssl
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpcore
import httpx

from ragcore.errors import UrlNotAllowedError, UrlRefusedError, UrlTooLargeError, UrlUnreachableError
from ragcore.fetching.addresses import AddressPolicy, Resolver, permitted_addresses

MAX_ADDRESSES = 4  # of one host that are tried
_GZIP, _GZIP_BITS = b"\x1f\x8b", zlib.MAX_WBITS | 16
REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    """What a host answered. Redirects and errors come without content."""

    status: int
    headers: Mapping[str, str]  # names in lower case; the last of a name counts
    content: bytes = field(default=b"", repr=False)


class Deadline:
    """The time that is left for a fetch with all its redirects."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self, at_most: float | None) -> float:
        """Seconds for the next step. Raises UrlUnreachableError when the time is over."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise UrlUnreachableError("slow")
        return seconds if at_most is None else min(seconds, at_most)


class _TimedStream(httpcore.NetworkStream):
    """A connection whose every step ends at the deadline, so that a slow host cannot keep it open."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._deadline.left(timeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        inner = self._inner.start_tls(ssl_context, server_hostname, self._deadline.left(timeout))
        return _TimedStream(inner, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _CheckedBackend(httpcore.NetworkBackend):
    """Resolves a name once and connects to the address that was checked; TLS still verifies the name."""

    def __init__(self, allow: AddressPolicy, resolve: Resolver, deadline: Deadline) -> None:
        self._allow = allow
        self._resolve = resolve
        self._deadline = deadline
        self._inner = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        addresses = permitted_addresses(host, port, allow=self._allow, resolve=self._resolve)[:MAX_ADDRESSES]
        problem: Exception | None = None
        for address in addresses:
            try:
                stream = self._inner.connect_tcp(address, port, self._deadline.left(timeout), None, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failed:
                problem = failed
            else:
                return _TimedStream(stream, self._deadline)
        raise UrlUnreachableError(host=host, port=port) from problem

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.NetworkStream:
        raise UrlNotAllowedError


class HttpConnections:
    """Sends requests, one connection at a time. Knows no proxies, cookies or passwords."""

    def __init__(self, *, allow: AddressPolicy, resolve: Resolver, step_seconds: float) -> None:
        self._allow = allow
        self._resolve = resolve
        self._timeout = dict.fromkeys(("connect", "read", "write", "pool"), step_seconds)

    def get(self, url: httpx.URL, *, headers: Mapping[str, str], deadline: Deadline, max_bytes: int) -> HttpReply:
        """The reply to a GET request. Raises as `send`."""
        return self.send(url, headers=headers, deadline=deadline, max_bytes=max_bytes)

    def send(
        self,
        url: httpx.URL,
        *,
        headers: Mapping[str, str],
        deadline: Deadline,
        max_bytes: int,
        method: str = "GET",
        body: bytes = b"",
    ) -> HttpReply:
        """The reply; its content is decompressed and complete.

        Raises UrlNotAllowedError, UrlUnreachableError, UrlRefusedError (unknown compression) or UrlTooLargeError.
        """
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        request_headers = [
            (b"Host", url.netloc),
            (b"Accept-Encoding", b"gzip"),
            (b"Connection", b"close"),
            *([(b"Content-Length", str(len(body)).encode())] if body else []),
            *((name.encode(), value.encode("ascii", "ignore")) for name, value in headers.items()),
        ]
        with self._pool(deadline) as pool, _coded_errors(url):
            extensions = {"timeout": self._timeout}
            content_sent = body or None
            with pool.stream(
                method.encode(), target, headers=request_headers, content=content_sent, extensions=extensions
            ) as response:
                reply_headers = {
                    name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
                }
                content = b""
                if 200 <= response.status < 300:
                    content = read_body(response.iter_stream(), reply_headers, max_bytes=max_bytes)
                return HttpReply(status=response.status, headers=reply_headers, content=content)

    def _pool(self, deadline: Deadline) -> httpcore.ConnectionPool:
        backend = _CheckedBackend(self._allow, self._resolve, deadline)
        return httpcore.ConnectionPool(
            ssl_context=_certificates(), max_keepalive_connections=0, network_backend=backend, max_connections=1
        )


@cache
def _certificates() -> ssl.SSLContext:
    """The operating system's authorities, which operators extend (SSL_CERT_FILE), and those of certifi."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


@contextmanager
def _coded_errors(url: httpx.URL) -> Iterator[None]:
    try:
        yield
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError) as problem:
        raise UrlUnreachableError(host=url.host, problem=f"{type(problem).__name__}: {problem}"[:200]) from problem


def read_body(stream: Iterable[bytes], headers: Mapping[str, str], *, max_bytes: int) -> bytes:
    """The content without its compression, counted as it grows. Raises UrlTooLargeError as soon as it is too much."""
    size = headers.get("content-length", "")
    if size.isascii() and size.isdigit() and (len(size) > 15 or int(size) > max_bytes):
        raise UrlTooLargeError(limit_bytes=max_bytes)
    content = bytearray()
    for part in _decompressed(stream, headers.get("content-encoding", ""), max_bytes):
        content += part
        if len(content) > max_bytes:
            raise UrlTooLargeError(limit_bytes=max_bytes)
    return bytes(content)


def _decompressed(stream: Iterable[bytes], encoding: str, max_bytes: int) -> Iterator[bytes]:
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return iter(stream)
    if name not in ("gzip", "x-gzip"):
        raise UrlRefusedError("compression", encoding=name[:50])
    return inflate(stream, max_bytes=max_bytes)


def inflate(stream: Iterable[bytes], *, max_bytes: int) -> Iterator[bytes]:
    """gzip, also several in a row, a bounded piece at a time. Raises UrlUnreachableError where it is damaged."""
    unpacker = zlib.decompressobj(wbits=_GZIP_BITS)
    is_open = False
    try:
        for packed in stream:
            while packed:
                is_open = True
                yield unpacker.decompress(packed, max_bytes + 1)
                packed = unpacker.unconsumed_tail
                if unpacker.eof:
                    rest = unpacker.unused_data
                    packed = rest if rest.startswith(_GZIP) else b""  # some hosts fill up with zeros
                    unpacker, is_open = zlib.decompressobj(wbits=_GZIP_BITS), False
    except zlib.error as problem:
        raise UrlUnreachableError("damaged") from problem
    if is_open:
        raise UrlUnreachableError("incomplete")
