"""Limits for connections: seconds without progress, and connections of one address.

One timer a web process looks at all HTTP connections; a request costs nothing but noting what it waits for. Limits are
of progress, not of whole requests: an upload over a slow line goes on as long as it keeps to a least rate, and streams
(SSE) may be silent, since nothing waits to be sent. WebSockets are left to uvicorn, which pings them every 20 seconds.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Protocol
from weakref import WeakKeyDictionary

_watches: WeakKeyDictionary[asyncio.AbstractEventLoop, ConnectionWatch] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Seconds, bytes and numbers; 0 of `an_address`: no limit."""

    head_seconds: float = 20.0  # from the first byte, of a new connection from its beginning, to the end of the head
    window_seconds: float = 20.0  # in which a body or an answer has to make progress
    body_bytes_per_second: float = 256.0  # least rate of a body, over each window
    an_address: int = 0  # connections of one address to this process; those of `trusted` do not count
    trusted: Collection[str] = ()  # addresses and networks of proxies, behind which many people are
    sweep_seconds: float = 1.0


class Watched(Protocol):
    """A connection as the watch sees it."""

    def fault(self, now: float) -> str:
        """The reason to close the connection; "" where there is none."""

    def end(self, fault: str) -> None: ...


@dataclass(slots=True)
class Progress:
    """What a connection waits for. All times are of the event loop's clock."""

    limits: ConnectionLimits
    head_since: float | None = None  # None: no head is on its way
    window_since: float | None = None  # None: no body is on its way
    window_bytes: int = 0
    unsent_since: float = 0.0
    unsent_bytes: int = 0

    def head_started(self, now: float) -> None:
        """A connection, or the first byte of a further request."""
        self.head_since = now if self.head_since is None else self.head_since

    def head_ended(self, now: float) -> None:
        """A body may follow."""
        self.head_since, self.window_since, self.window_bytes = None, now, 0

    def body_ended(self) -> None:
        """Nothing is expected until the next request."""
        self.window_since = None

    def fault(self, now: float, *, unsent_bytes: int, is_paused: bool) -> str:
        """ "head", "body" or "answer" where the other side has made too little progress; "": all is well.

        `unsent_bytes`: of an answer, not yet taken by the system. `is_paused`: we do not read the body at the moment.
        """
        if self.head_since is not None and now - self.head_since > self.limits.head_seconds:
            return "head"
        if self._is_body_slow(now, is_paused=is_paused):
            return "body"
        return "answer" if self._is_answer_stuck(now, unsent_bytes) else ""

    def _is_body_slow(self, now: float, *, is_paused: bool) -> bool:
        if self.window_since is None:
            return False
        if is_paused:  # we are the slow side
            self.window_since, self.window_bytes = now, 0
        seconds = now - self.window_since
        if seconds < self.limits.window_seconds:
            return False
        is_slow = self.window_bytes < self.limits.body_bytes_per_second * seconds
        self.window_since, self.window_bytes = now, 0
        return is_slow

    def _is_answer_stuck(self, now: float, unsent_bytes: int) -> bool:
        if not unsent_bytes or unsent_bytes != self.unsent_bytes:
            self.unsent_since, self.unsent_bytes = now, unsent_bytes
            return False
        return now - self.unsent_since > self.limits.window_seconds


@dataclass
class ConnectionWatch:
    """The connections of one event loop, and their number by address."""

    limits: ConnectionLimits
    loop: asyncio.AbstractEventLoop
    _connections: set[Watched] = field(default_factory=set)
    _by_address: Counter[str] = field(default_factory=Counter)
    _timer: asyncio.TimerHandle | None = None
    _is_trusted: dict[str, bool] = field(default_factory=dict)

    def add(self, connection: Watched, address: str) -> bool:
        """False where the address has too many connections already; then it is not watched."""
        counted = self.limits.an_address and not self._is_proxy(address)
        if counted and self._by_address[address] >= self.limits.an_address:
            return False
        self._by_address[address] += 1
        self._connections.add(connection)
        if self._timer is None:
            self._timer = self.loop.call_later(self.limits.sweep_seconds, self._sweep)
        return True

    def release(self, connection: Watched) -> None:
        """Stops watching a connection, such as one that became a WebSocket; it still counts for its address."""
        self._connections.discard(connection)

    def forget(self, address: str) -> None:
        """A connection of the address has ended."""
        self._by_address[address] -= 1
        if self._by_address[address] <= 0:
            del self._by_address[address]

    def _sweep(self) -> None:
        now = self.loop.time()
        for connection in list(self._connections):
            if fault := connection.fault(now):
                self.release(connection)
                connection.end(fault)
        self._timer = self.loop.call_later(self.limits.sweep_seconds, self._sweep) if self._connections else None

    def _is_proxy(self, address: str) -> bool:
        if address not in self._is_trusted:
            if len(self._is_trusted) > 10_000:
                self._is_trusted.clear()
            self._is_trusted[address] = _is_within(address, self.limits.trusted)
        return self._is_trusted[address]


def _is_within(address: str, networks: Collection[str]) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:  # a socket file: whoever is in front of us
        return True
    return any(parsed in ip_network(network, strict=False) for network in networks)


def watch_of(loop: asyncio.AbstractEventLoop, limits: Callable[[], ConnectionLimits]) -> ConnectionWatch:
    """The watch of an event loop."""
    if loop not in _watches:
        _watches[loop] = ConnectionWatch(limits(), loop)
    return _watches[loop]
