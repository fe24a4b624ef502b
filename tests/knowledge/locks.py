"""Work in a second connection, and waiting until it waits for a lock of Postgres."""

from __future__ import annotations

import threading
from collections.abc import Callable

from django.db import connection, connections

TRIES, PAUSE_SECONDS = 500, 0.01


def wait_for_lock(locktype: str = "") -> None:
    """Return when a connection to this database waits for a lock, of this type if given; AssertionError after 5 s."""
    pause = threading.Event()
    for _ in range(TRIES):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)"
                " WHERE NOT granted AND datname = current_database() AND %(type)s IN ('', locktype)",
                {"type": locktype},
            )
            if cursor.fetchone()[0]:
                return
        pause.wait(PAUSE_SECONDS)
    raise AssertionError("nobody waited for a lock")


class Beside(threading.Thread):
    """Something done in its own connection."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self.act, self.error = act, None

    def run(self) -> None:
        try:
            self.act()
        except Exception as error:  # noqa: BLE001 (whatever it is, `end` says it)
            self.error = error
        finally:
            connections.close_all()

    def start_and_wait_for_lock(self, locktype: str = "") -> None:
        """Until its connection waits for what this one holds."""
        self.start()
        wait_for_lock(locktype)

    def end(self) -> None:
        self.join(30)
        assert not self.is_alive()
        assert self.error is None, self.error


def apart(act: Callable[[], object]) -> None:
    """Do something in a connection of its own, to its end."""
    other = Beside(act)
    other.start()
    other.end()
