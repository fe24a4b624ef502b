"""Several web processes behind one address, with the real application."""

import os
import signal
import socket
from contextlib import suppress

import httpx
import pytest

from ragcore.client_registry import tls_context
from ragsite.embedded.data_dir import is_running
from ragsite.embedded.processes import free_port, wait_until
from ragsite.env import LEAST_POOL, read_environment
from ragsite.web_server import READY_SUFFIX, affordable_pool, bind_sockets, forget_process, is_complete
from tests.faults.product import arguments_of, children_of
from tests.live_site import await_answer, running

PROCESSES = 2


@pytest.fixture
def site(transactional_db, redis_client, tmp_path):
    """The parent process, and its address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    variables = {"PORT": str(port), "WEB_PROCESSES": str(PROCESSES), "TMPDIR": str(tmp_path)}
    with running("-m", "ragsite.web_server", "--stop-seconds", "8", folder=tmp_path, **variables) as parent:
        await_answer(f"{url}/health", parent)
        yield parent, url


def workers_of(parent):
    return [pid for pid in children_of(parent.pid) if "--number" in arguments_of(pid)]


def answers(url):
    """Status codes of as many requests, each on its own connection, that every process should get one."""
    return {httpx.get(url, timeout=20, trust_env=False, verify=tls_context()).status_code for _ in range(20)}


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_processes_share_an_address_and_a_dead_one_is_replaced_while_the_other_answers(site):
    parent, url = site
    assert wait_until(lambda: answers(f"{url}/health") == {200}, seconds=60)
    before = workers_of(parent)
    page = httpx.get(f"{url}/metrics", trust_env=False, verify=tls_context()).text
    requests = 'django_http_responses_total_by_status_total{status="200"}'

    os.kill(before[0], signal.SIGKILL)
    assert wait_until(lambda: before[0] not in workers_of(parent), seconds=10)
    alone = metrics_of_one(url)

    assert len(before) == PROCESSES
    assert f"ragsite_web_processes {PROCESSES}.0" in page
    assert "ragsite_answers_in_flight 0.0" in alone
    assert value_of(alone, requests) >= value_of(page, requests) >= 20  # what the dead one counted stays
    assert value_of(page, "process_resident_memory_bytes") > 2 * 100e6
    assert wait_until(lambda: len(workers_of(parent)) == PROCESSES, seconds=30)

    parent.send(signal.SIGTERM)

    assert parent.wait(15)
    assert parent.exit_code() == 0
    assert not any(is_running(pid) for pid in before)


def metrics_of_one(url):
    """The page as soon as it counts one process; connections that the dead one had taken are reset."""
    for _ in range(50):
        with suppress(httpx.TransportError):
            page = httpx.get(f"{url}/metrics", trust_env=False, verify=tls_context()).text
            if "ragsite_web_processes 1.0" in page:
                return page
    raise AssertionError(page)


def value_of(page, name):
    return next(float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith(name))


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_process_that_cannot_start_ends_the_start(transactional_db, tmp_path):
    variables = {"PORT": str(free_port()), "WEB_PROCESSES": "2", "DJANGO_SETTINGS_MODULE": "no_such_settings"}
    with running("-m", "ragsite.web_server", folder=tmp_path, **variables) as parent:
        assert parent.wait(40)

    assert parent.exit_code() == 1
    assert "no_such_settings" in parent.log_tail(60)


def test_an_address_in_use_is_refused_whoever_uses_it():
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(OSError, match="in use"):
        bind_sockets("127.0.0.1", other.getsockname()[1], is_shared=True)

    (first,) = bind_sockets("127.0.0.1", 0, is_shared=True)
    (second,) = bind_sockets("127.0.0.1", first.getsockname()[1], is_shared=True)
    second.listen()
    with first, second, pytest.raises(OSError, match="in use"):
        bind_sockets("127.0.0.1", first.getsockname()[1], is_shared=False)


def test_the_site_is_ready_when_each_process_has_been(tmp_path):
    assert is_complete(None, 4)
    assert not is_complete(tmp_path, 1)
    for pid in (11, 12):
        (tmp_path / f"{pid}{READY_SUFFIX}").touch()
    assert is_complete(tmp_path, 2)


def test_gauges_of_a_dead_process_go_and_its_counters_stay(tmp_path):
    for name in ("gauge_livesum_7.db", "gauge_livesum_8.db", "counter_7.db"):
        (tmp_path / name).touch()

    forget_process(tmp_path, 7)

    assert sorted(file.name for file in tmp_path.iterdir()) == ["counter_7.db", "gauge_livesum_8.db"]


@pytest.mark.parametrize(("processes", "asked", "got"), [(2, 0, None), (2, 9, 9), (2, 60, 40), (500, 9, LEAST_POOL)])
def test_processes_share_the_connections_that_the_database_allows(transactional_db, processes, asked, got, capsys):
    environment = read_environment(WEB_PROCESSES=min(processes, 256), DATABASE_POOL=asked)

    assert affordable_pool(environment) == (got or environment.pool_size())
    assert ("instead of" in capsys.readouterr().out) == (got is not None and got != asked)
