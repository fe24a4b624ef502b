import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from ragsite.embedded.data_dir import AlreadyRunningError, DataLock
from ragsite.embedded.postgres import NamespaceIdentity, UserIdentity, choose_identity
from ragsite.embedded.processes import Process, ServiceError, launcher, processes_in, wait_until
from ragsite.embedded.redis import UNUSED_COMMANDS, server_program
from ragsite.embedded.services import EmbeddedServices


@pytest.fixture
def data_dir() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="ragsite data '\"$ "))  # a name that wants quoting
    yield folder
    shutil.rmtree(folder)


def test_a_second_start_finds_the_data_of_the_first(data_dir):
    with EmbeddedServices(data_dir, durable=False) as services:
        with psycopg.connect(services.database_url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT '[1,2]'::halfvec AS v")
        with redis.Redis.from_url(services.redis_url) as client:
            client.set("kept", "yes")
            for command in UNUSED_COMMANDS:
                with pytest.raises(redis.ResponseError, match="unknown command"):
                    client.execute_command(command, "x", "y")

    with EmbeddedServices(data_dir, durable=False) as services:
        with psycopg.connect(services.database_url) as connection:
            row = connection.execute("SELECT v::text FROM kept").fetchone()
        with redis.Redis.from_url(services.redis_url) as client:
            value = client.get("kept")

    assert row == ("[1,2]",)
    assert value == b"yes"


@pytest.mark.parametrize(
    ("found", "started"),
    [
        ({}, "wheel"),
        ({"redis-server": "Redis server v=5.0.7 sha=0"}, "wheel"),
        ({"redis-server": "Redis server v=7.0.15 sha=0"}, "redis-server"),
        ({"redis-server": "Redis server v=7.0.15", "valkey-server": "Valkey server v=8.1.10 sha=0"}, "valkey-server"),
        ({"redis-server": "Redis server v=6.2.14 sha=0"}, "redis-server"),
        ({"redis-server": "Segmentation fault"}, "wheel"),
    ],
)
def test_the_newest_redis_or_valkey_is_started(found, started, tmp_path, monkeypatch):
    for name, said in found.items():
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{said}'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    program = server_program()

    assert (program.name if program.parent == tmp_path else "wheel") == started


@pytest.mark.full
def test_nothing_runs_after_the_context(data_dir):
    with EmbeddedServices(data_dir, durable=False):
        running = processes_in(data_dir / "postgres"), processes_in(data_dir / "redis")

    assert all(running)
    assert processes_in(data_dir / "postgres") == []
    assert processes_in(data_dir / "redis") == []


def test_the_services_want_a_password(data_dir):
    with EmbeddedServices(data_dir, durable=False) as services:
        stranger = services.database_url.replace(services.postgres.password, "guessed")

        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(stranger)
        with pytest.raises(redis.AuthenticationError), redis.Redis(port=services.redis.port) as client:
            client.ping()


def test_chinese_names_have_trigrams_and_accents_have_capitals(data_dir):
    with EmbeddedServices(data_dir, durable=False) as services, psycopg.connect(services.database_url) as connection:
        trigrams, lower = connection.execute("SELECT show_trgm('基站'), lower('É')").fetchone()

    assert trigrams
    assert lower == "é"


@pytest.mark.full
def test_the_database_comes_back_after_its_processes_were_killed(data_dir):
    with EmbeddedServices(data_dir) as services:
        with psycopg.connect(services.database_url) as connection:
            connection.execute("CREATE TABLE kept (n int)")
        services.postgres.process.kill_group(signal.SIGKILL)
        wait_until(lambda: not services.postgres.process.is_running(), seconds=10)

        services.postgres.start()
        services.postgres.wait_ready()

        with psycopg.connect(services.database_url) as connection:
            assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)


@pytest.mark.full
def test_a_pid_file_with_the_number_of_another_process_does_not_prevent_the_start(data_dir):
    with EmbeddedServices(data_dir, durable=False) as services:
        pid_file = services.postgres.folder / "postmaster.pid"
        content = pid_file.read_text().splitlines()
    pid_file.write_text("\n".join([str(os.getpid()), *content[1:]]))

    with EmbeddedServices(data_dir, durable=False) as services, psycopg.connect(services.database_url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.full
def test_an_interrupted_initialisation_is_begun_again(data_dir):
    (data_dir / "postgres.new").mkdir()
    (data_dir / "postgres.new" / "PG_VERSION").write_text("18")

    with EmbeddedServices(data_dir, durable=False) as services, psycopg.connect(services.database_url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.full
def test_a_server_that_cannot_start_is_reported_with_its_own_words(data_dir):
    with EmbeddedServices(data_dir, durable=False):
        pass
    (data_dir / "postgres" / "global" / "pg_control").unlink()

    with pytest.raises(ServiceError, match="pg_control"), EmbeddedServices(data_dir, durable=False):
        pass

    assert processes_in(data_dir / "redis") == []


def test_the_folder_belongs_to_one_process_at_a_time(data_dir):
    holder = rf"process {os.getpid()} \(http://127.0.0.1:8000/\)"

    with DataLock(data_dir, "http://127.0.0.1:8000/"), pytest.raises(AlreadyRunningError, match=holder):
        DataLock(data_dir, "another").__enter__()

    with DataLock(data_dir, "a later one"):
        assert (data_dir / "lock").exists()


def test_an_orphan_does_not_keep_the_folder_locked(data_dir):
    with DataLock(data_dir, "first"):
        child = subprocess.Popen(["sleep", "60"])
    try:
        with DataLock(data_dir, "second"):
            assert child.poll() is None
    finally:
        child.kill()
        child.wait()


def test_a_child_ends_when_its_parent_is_killed(tmp_path):
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)])
    assert wait_until(lambda: len(processes_in(tmp_path)) == 1, seconds=20)

    parent.kill()
    parent.wait()

    assert wait_until(lambda: not processes_in(tmp_path), seconds=10)


PARENT = """
import sys
from pathlib import Path
from ragsite.embedded.processes import Process
folder = Path(sys.argv[1])
child = Process(name="child", command=["/bin/sleep", "60"], log=folder / "logs" / "child.log", folder=folder)
child.start()
child.wait(60)
"""


def test_a_child_that_ignores_requests_is_killed_with_all_that_it_started(tmp_path):
    script = f"trap '' TERM; cd {tmp_path}; sleep 60 & sleep 60"
    child = Process(name="stubborn", command=["/bin/sh", "-c", script], log=tmp_path / "logs" / "stubborn.log")
    child.start()
    assert wait_until(lambda: len(processes_in(tmp_path)) == 3, seconds=20)

    child.stop(seconds=0.1)

    assert wait_until(lambda: not processes_in(tmp_path), seconds=10)


def test_a_program_that_does_not_exist_is_named_in_the_log(tmp_path):
    child = Process(name="missing", command=["/no/such/program"], log=tmp_path / "missing.log")

    child.start()

    assert child.wait(20)
    assert "cannot start /no/such/program" in child.log_tail()


def test_a_large_log_makes_room_and_keeps_its_predecessor(tmp_path, monkeypatch):
    monkeypatch.setattr("ragsite.embedded.processes.LOG_LIMIT_BYTES", 10)
    log = tmp_path / "web.log"
    log.write_text("line of the last run\n")
    child = Process(name="web", command=["/bin/echo", "new"], log=log)

    child.start()

    assert child.wait(20)
    assert log.read_text() == "new\n"
    assert (tmp_path / "web.log.1").read_text() == "line of the last run\n"


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become somebody else")


@as_root
def test_in_a_namespace_root_is_nobody_to_itself_and_still_owns_its_files(tmp_path):
    if not isinstance(choose_identity(tmp_path / "new"), NamespaceIdentity):
        pytest.skip("the kernel forbids user namespaces here")
    file = tmp_path / "made"
    identity = NamespaceIdentity(65534)

    inside = subprocess.run(
        [*launcher(identity.options()), "/bin/sh", "-c", f"touch '{file}'; id -u"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert inside.stdout.strip() == "65534"
    assert file.stat().st_uid == 0


@as_root
def test_where_namespaces_are_forbidden_an_unprivileged_user_takes_over(tmp_path, monkeypatch):
    monkeypatch.setattr("ragsite.embedded.postgres._is_allowed", lambda identity: False)

    identity = choose_identity(tmp_path / "new")

    assert isinstance(identity, UserIdentity)
    inside = subprocess.run(
        [*launcher(identity.options()), "/usr/bin/id", "-u"], capture_output=True, text=True, check=True
    )
    assert inside.stdout.strip() == str(identity.uid) != "0"


@as_root
def test_data_of_another_user_stays_with_that_user(tmp_path):
    os.chown(tmp_path, 12345, 12345)

    assert choose_identity(tmp_path) == UserIdentity(12345, 12345)


@as_root
def test_a_folder_that_the_user_cannot_enter_is_named_and_left_as_it_is(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    closed_before = closed.stat().st_mode
    tmp_path.chmod(0o755)

    with pytest.raises(ServiceError, match="cannot enter"):
        UserIdentity(65534, 65534).require_access(closed / "data")

    assert closed.stat().st_mode == closed_before
