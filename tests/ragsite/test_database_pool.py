"""The pool of connections beside a PostgreSQL of its own, which is stopped and started."""

import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg_pool import PoolTimeout

from ragsite.database import pool as pool_module
from ragsite.database.pool import AWAY_SECONDS, CheckedPool
from ragsite.embedded.services import EmbeddedServices

CONNECTIONS = 8
END_OTHERS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


@pytest.fixture(scope="module")
def postgres():
    folder = Path(tempfile.mkdtemp(prefix="ragsite-pool-"))
    with EmbeddedServices(folder, durable=False) as services:
        yield services.postgres
    shutil.rmtree(folder)


@pytest.fixture
def pool(postgres):
    """All its connections were used and are idle."""
    made = CheckedPool(conninfo=postgres.url, min_size=1, max_size=CONNECTIONS, timeout=10, kwargs={"autocommit": True})
    made.open()
    held = [made.getconn() for _ in range(CONNECTIONS)]
    for connection in held:
        made.putconn(connection)
    yield made
    made.close()


def restart(postgres):
    postgres.stop()
    postgres.start()
    postgres.wait_ready()


def ask(pool):
    """Seconds until a statement was answered."""
    start = time.monotonic()
    connection = pool.getconn()
    try:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        pool.putconn(connection)
    return time.monotonic() - start


def test_after_a_restart_nobody_gets_a_dead_connection_or_waits_for_long(postgres, pool):
    restart(postgres)

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        seconds = list(threads.map(ask, [pool] * 40))

    assert max(seconds) < AWAY_SECONDS


def test_a_server_that_is_away_is_told_soon_also_to_who_waits_already(postgres, pool):
    postgres.stop()
    try:
        start = time.monotonic()
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            waiting = [threads.submit(ask, pool) for _ in range(CONNECTIONS)]
            errors = [type(each.exception()) for each in waiting]
        seconds = time.monotonic() - start
    finally:
        postgres.start()
        postgres.wait_ready()

    assert set(errors) == {PoolTimeout}
    assert seconds < 3 * AWAY_SECONDS < pool.timeout
    assert ask(pool) < AWAY_SECONDS


def test_a_connection_that_was_idle_for_long_is_asked_before_it_is_used(pool, monkeypatch):
    asked = []
    monkeypatch.setattr(pool, "check_connection", asked.append)
    ask(pool)
    soon = len(asked)
    monkeypatch.setattr(pool_module, "IDLE_SECONDS", -1.0)

    ask(pool)

    assert (soon, len(asked)) == (0, 1)


def test_a_connection_that_the_server_ended_alone_is_replaced(postgres, pool):
    with psycopg.connect(postgres.url, autocommit=True) as administrator:
        administrator.execute(END_OTHERS)

    assert ask(pool) < AWAY_SECONDS
