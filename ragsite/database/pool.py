"""A pool of connections to PostgreSQL that gives out no dead ones, and says soon when the server is away.

A restarted server leaves every pooled connection closed at its other end. That can be read from the socket without
asking the server, so the check costs a microsecond; only a connection that was idle for long is asked a question, which
a lost network needs.
"""

from __future__ import annotations

import select
from time import monotonic
from typing import Any

from psycopg import Connection, OperationalError
from psycopg_pool import ConnectionPool, PoolTimeout

IDLE_SECONDS = 30.0  # after which a connection is asked before it is used
AWAY_SECONDS = 2.5  # that a request waits for a server to which the last attempt to connect failed
RECONNECT_SECONDS = 2.0  # of attempts for one connection; the next request begins anew, without a growing pause


class CheckedPool(ConnectionPool[Connection[Any]]):
    """psycopg_pool's, opened by its first use.

    `getconn` raises PoolTimeout after `timeout` seconds when all connections are in use, and after about AWAY_SECONDS
    while the server cannot be reached.
    """

    away_since: float | None = None  # when connecting began to fail; None: the server answers

    def __init__(self, **options: Any) -> None:
        super().__init__(open=False, check=self._check_alive, reconnect_timeout=RECONNECT_SECONDS, **options)

    def getconn(self, timeout: float | None = None) -> Connection[Any]:
        """See ConnectionPool."""
        longest = self.timeout if timeout is None else timeout
        return super().getconn(longest if self.away_since is None else min(longest, AWAY_SECONDS))

    def putconn(self, conn: Connection[Any]) -> None:
        """See ConnectionPool."""
        if not conn.closed:
            self._note_answer(conn)
        super().putconn(conn)

    def reconnect_failed(self) -> None:
        """Tries another connection where requests still wait, instead of leaving that to the next request."""
        with self._lock:
            if self._waiting:
                self._maybe_grow_pool()
        super().reconnect_failed()

    def _connect(self, timeout: float | None = None) -> Connection[Any]:
        try:
            connection = super()._connect(timeout)
        except Exception:
            self._note_failure()
            raise
        self._note_answer(connection)
        return connection

    def _note_answer(self, connection: Connection[Any]) -> None:
        self.away_since = None
        connection.used_at = monotonic()  # type: ignore[attr-defined]  # ours, beside the pool's own `_created_at`

    def _note_failure(self) -> None:
        """Who began to wait before it was known that the server is away need not wait to the end."""
        if self.away_since is None:
            self.away_since = monotonic()
        if monotonic() - self.away_since < AWAY_SECONDS:
            return
        with self._lock:
            waiting = list(self._waiting)
            self._waiting.clear()
        for client in waiting:
            client.fail(PoolTimeout("the database cannot be reached"))

    def _check_alive(self, connection: Connection[Any]) -> None:
        """Raises OperationalError. One dead connection is seldom alone: all others that are idle are replaced, too."""
        try:
            if _has_said_something(connection) or _idle_seconds(connection) > IDLE_SECONDS:
                self.check_connection(connection)
        except Exception:
            connection.close()
            self.drain()
            raise


def _has_said_something(connection: Connection[Any]) -> bool:
    """Whether the socket can be read though nothing was asked: it was closed, or a last word of the server waits."""
    if connection.closed:
        raise OperationalError("the connection is closed")
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _idle_seconds(connection: Connection[Any]) -> float:
    return monotonic() - float(getattr(connection, "used_at", 0.0))
