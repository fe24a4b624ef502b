"""The supervisor as an operator meets it: real services, tiny programs, real signals."""

import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.model_process.client import ModelProcess
from ragcore.model_process.protocol import ModelKey
from ragcore.model_process.socket_paths import short_path
from ragsite.embedded.data_dir import is_running
from ragsite.embedded.processes import Process, SupervisedProcess, free_port, processes_in, wait_until
from ragsite.env import PROJECT_ROOT

SERVED = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ADMIN_PASSWORD")


@dataclass
class Product:
    """One start of the fake product."""

    data_dir: Path
    port: int
    options: tuple[str, ...] = ()
    child: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        inherited = {key: value for key, value in os.environ.items() if key not in SERVED}
        self.output = self.data_dir.with_name("output.txt")
        with self.output.open("w") as output:
            self.child = subprocess.Popen(
                [sys.executable, "-m", "tests.ragsite.fake_product", *self.options],
                cwd=PROJECT_ROOT,
                env={**inherited, "DATA_DIR": str(self.data_dir), "PORT": str(self.port)},
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )

    def said(self) -> str:
        return self.output.read_text()

    def says(self, words: str, seconds: float = 40) -> bool:
        return wait_until(
            lambda: words in self.said(), seconds=seconds, unless=lambda: self.child.poll() is not None
        ) or (words in self.said())

    def ready(self) -> "Product":
        assert self.says("Ready: "), self.said()
        return self

    def web_pid(self) -> int | None:
        """Who answers on the port."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/health")
            return int(connection.getresponse().read())
        except OSError:
            return None
        finally:
            connection.close()

    def runtime(self) -> dict[str, str]:
        found: dict[str, str] = json.loads((self.data_dir / "runtime.json").read_text())
        return found

    def has_left_nothing(self) -> bool:
        folders = (self.data_dir / "postgres", self.data_dir / "redis")
        return self.web_pid() is None and not any(processes_in(folder) for folder in folders)


@pytest.fixture
def product(tmp_path: Path) -> Iterator[Callable[..., Product]]:
    """Starts fake products in one DATA_DIR and on one port; what still runs at the end is stopped."""
    started: list[Product] = []
    common_port = free_port()

    def start(*options: str, data_dir: Path = tmp_path / "data", port: int = common_port) -> Product:
        started.append(Product(data_dir, port, options))
        return started[-1]

    yield start
    for each in started:
        each.child.kill()
        each.child.wait()
    assert wait_until(lambda: all(each.has_left_nothing() for each in started), seconds=30)


def test_it_prints_where_it_is_refuses_a_second_start_in_its_folder_and_ctrl_c_stops_everything(product):
    running = product().ready()
    assert f"http://127.0.0.1:{running.port}/" in running.said()
    assert "Sign in as admin" in running.said()
    second = Product(running.data_dir, free_port())
    assert second.child.wait(20) == 2
    assert re.search(rf"in use by process {running.child.pid} \(http://127.0.0.1:{running.port}/\)", second.said())
    assert running.web_pid()

    running.child.send_signal(signal.SIGINT)

    assert running.child.wait(20) == 0
    assert running.has_left_nothing()
    assert not (running.data_dir / "runtime.json").exists()


def test_a_port_in_use_is_named_before_anything_is_started(product):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        refused = product(port=port)

        assert refused.child.wait(20) == 1
    assert f"Port {port} of 127.0.0.1 is in use" in refused.said()
    assert not (refused.data_dir / "postgres").exists()


def test_kill_9_takes_all_children_down_and_the_next_start_recovers_with_its_data(product):
    killed = product().ready()
    with psycopg.connect(killed.runtime()["database_url"]) as connection:
        connection.execute("CREATE TABLE kept (n int)")

    killed.child.kill()
    killed.child.wait()
    assert wait_until(killed.has_left_nothing, seconds=30)
    again = product().ready()

    with psycopg.connect(again.runtime()["database_url"]) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)


@pytest.mark.full
def test_a_crashed_program_is_started_again_and_reported_and_a_database_at_the_same_address(product):
    running = product().ready()
    first = running.web_pid()

    os.kill(first, signal.SIGKILL)

    assert wait_until(lambda: running.web_pid() not in {None, first}, seconds=20)
    assert "web was ended by signal 9; it is started again in 1 s" in running.said()
    url = running.runtime()["database_url"]
    postmaster = int((running.data_dir / "postgres" / "postmaster.pid").read_text().split()[0])

    os.kill(postmaster, signal.SIGKILL)

    assert running.says("postgres was ended by signal 9")
    assert wait_until(lambda: _answers(url), seconds=30)


@pytest.mark.full
def test_a_model_process_that_is_killed_is_started_again_and_stops_with_the_others(product):
    running = product("--models").ready()
    path = Path(running.runtime()["model_socket"])
    first = model_process_pid(path)

    os.kill(first, signal.SIGKILL)

    assert running.says("models was ended by signal 9; it is started again in 1 s")
    assert model_process_pid(path) != first
    running.child.send_signal(signal.SIGINT)
    assert running.child.wait(20) == 0
    assert not path.exists()


def model_process_pid(path: Path) -> int:
    """Who listens, once it answers."""
    with pytest.raises(ModelUnavailableError, match="failed"):
        ModelProcess(path).load(ModelKey(kind="none", source="a kind that nothing loads"), seconds=40)
    with socket.socket(socket.AF_UNIX) as connection, short_path(path) as name:
        connection.connect(name)
        return struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


@pytest.mark.full
@pytest.mark.slow
def test_a_program_that_cannot_start_ends_the_start_with_the_end_of_its_log(product):
    broken = product("--broken")

    assert broken.child.wait(60) == 1
    assert "web does not start" in broken.said()
    assert "no such application" in broken.said()
    assert broken.has_left_nothing()


@pytest.mark.full
@pytest.mark.slow
def test_a_program_that_ignores_the_request_to_stop_is_killed_with_its_children(product):
    running = product("--stubborn").ready()
    grandchild = running.data_dir / "grandchild"
    assert wait_until(grandchild.exists, seconds=20)

    started = time.monotonic()
    running.child.terminate()

    assert running.child.wait(20) == 0
    assert time.monotonic() - started < 15
    assert wait_until(lambda: not is_running(int(grandchild.read_text())), seconds=10)


@pytest.mark.full
def test_a_second_ctrl_c_leaves_at_once(product):
    running = product("--stubborn").ready()
    assert wait_until((running.data_dir / "grandchild").exists, seconds=20)
    running.child.send_signal(signal.SIGINT)
    assert running.says("Stopping")
    first = time.monotonic()

    while running.child.poll() is None and time.monotonic() - first < 20:
        wait_until(lambda: running.child.poll() is not None, seconds=1.2)
        running.child.send_signal(signal.SIGINT)

    assert running.child.wait(5) == 130  # and not 0, as after stopping in order
    assert wait_until(running.has_left_nothing, seconds=20)


def test_pauses_between_restarts_grow_and_start_over_after_a_steady_run(tmp_path):
    now, said = [0.0], []
    dead = Process(name="web", command=["/bin/true"], log=tmp_path / "web.log")
    supervised = SupervisedProcess(dead, start=lambda: None, say=said.append, now=lambda: now[0])
    supervised.launch()

    for step in (0, 1, 0, 2, 0, 100):  # crash, start, crash, start, crash, start; then a long run
        now[0] += step
        supervised.restart_if_ended()
    now[0] += 60
    supervised.restart_if_ended()

    assert [re.search(r"again in (\d+) s", line)[1] for line in said] == ["1", "2", "4", "1"]


def _answers(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=3) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.OperationalError:
        return False


@pytest.fixture
def mounted(tmp_path):
    """A small file system: `mounted("size=2m")`, its folder."""
    folders = []

    def mount(options):
        folder = tmp_path / "data"
        folder.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True)
        if done.returncode != 0:
            pytest.skip("only root may mount a file system here")
        folders.append(folder)
        return folder

    yield mount
    for folder in folders:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize(
    ("options", "words"), [("ro", "cannot be written to: Read-only file system"), ("size=2m", "of free space")]
)
def test_a_folder_that_cannot_be_used_is_told_in_one_line(mounted, options, words):
    folder = mounted(options)
    variables = {name: value for name, value in os.environ.items() if name not in SERVED}

    done = subprocess.run(
        [sys.executable, "-m", "ragsite.embedded"],
        env={**variables, "DATA_DIR": str(folder), "PORT": str(free_port())},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert str(folder) in done.stderr
