"""HTTP transports that connect only to addresses which somebody has checked, for servers that people name.

The address that was checked is the one that is connected to, so a name cannot mean another one a moment later; TLS
still verifies the name. Each redirect is checked like the first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import httpx

from ragcore.client_registry import tls_context

Permitted = Callable[[str, int], Sequence[str]]  # host and port -> addresses; raises where none may be connected to

MAX_ADDRESSES = 4  # of one host that are tried
PORTS = {"http": 80, "https": 443}


class CheckedTransport(httpx.BaseTransport):
    """For synchronous clients. Raises what `permitted` raises."""

    def __init__(self, permitted: Permitted) -> None:
        self._permitted = permitted
        self._inner = httpx.HTTPTransport(verify=tls_context())

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        problem: httpx.ConnectError | None = None
        for address in self._permitted(*_host(request))[:MAX_ADDRESSES]:
            try:
                return self._inner.handle_request(_at(request, address))
            except httpx.ConnectError as failed:
                problem = failed
        raise problem or httpx.ConnectError("no address", request=request)

    def close(self) -> None:
        self._inner.close()


class CheckedAsyncTransport(httpx.AsyncBaseTransport):
    """For asynchronous clients; names are resolved in a thread. Raises what `permitted` raises."""

    def __init__(self, permitted: Permitted) -> None:
        self._permitted = permitted
        self._inner = httpx.AsyncHTTPTransport(verify=tls_context())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        problem: httpx.ConnectError | None = None
        addresses = await asyncio.to_thread(self._permitted, *_host(request))
        for address in addresses[:MAX_ADDRESSES]:
            try:
                return await self._inner.handle_async_request(_at(request, address))
            except httpx.ConnectError as failed:
                problem = failed
        raise problem or httpx.ConnectError("no address", request=request)

    async def aclose(self) -> None:
        await self._inner.aclose()


def _host(request: httpx.Request) -> tuple[str, int]:
    return request.url.host, request.url.port or PORTS.get(request.url.scheme, 0)


def _at(request: httpx.Request, address: str) -> httpx.Request:
    """The same request to an address; the header `Host` and TLS keep the name."""
    return httpx.Request(
        method=request.method,
        url=request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
