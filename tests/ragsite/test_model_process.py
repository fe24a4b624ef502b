"""The program that holds models: one at a socket, found by the others, in containers as embedded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
import yaml

from ragcore.errors import ModelUnavailableError
from ragcore.model_process.client import ModelProcess
from ragcore.model_process.protocol import ModelKey
from ragsite.embedded.data_dir import Runtime
from ragsite.embedded.programs import model_program
from ragsite.env import PROJECT_ROOT, read_environment
from ragsite.model_process import ALREADY_RUNNING, AlreadyServedError, sole_server

START_SECONDS = 60


@pytest.fixture
def start(tmp_path):
    """Starts the program at the socket of this test."""
    started = []

    def process(name: str) -> subprocess.Popen[bytes]:
        log = (tmp_path / f"{name}.log").open("wb")
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "ragsite.model_process"],
                env={**os.environ, "MODEL_SOCKET": str(tmp_path / "models.sock")},
                cwd=PROJECT_ROOT,
                stdout=log,
                stderr=log,
            )
        )
        log.close()
        return started[-1]

    yield process
    for each in started:
        each.kill()
        each.wait()


def answers(path):
    """Whether somebody serves there: a kind that nothing loads is refused by whoever does."""
    with pytest.raises(ModelUnavailableError) as raised:
        ModelProcess(path).load(ModelKey(kind="none", source="m"), seconds=START_SECONDS)
    return raised.value.reason == "model_failed"


def test_of_two_starts_one_serves_and_the_next_one_follows_a_killed_one(start, tmp_path):
    path = tmp_path / "models.sock"
    first = start("first")
    assert answers(path)

    second = start("second")

    assert second.wait(START_SECONDS) == ALREADY_RUNNING
    assert "another process serves models" in (tmp_path / "second.log").read_text()
    assert answers(path)
    first.kill()
    first.wait()
    third = start("third")
    assert answers(path)
    third.send_signal(signal.SIGTERM)
    assert third.wait(START_SECONDS) == 0
    assert not path.exists()


def test_the_right_to_serve_is_held_once_and_given_back(tmp_path):
    path = tmp_path / "folder" / "models.sock"

    with sole_server(path), pytest.raises(AlreadyServedError), sole_server(path):
        pytest.fail("two hold it")
    with sole_server(path):
        pass


def test_other_processes_find_it_where_it_is_configured_or_embedded(tmp_path):
    served = str(tmp_path / "models.sock")

    assert read_environment(DATA_DIR=tmp_path).model_socket() is None
    Runtime(pid=os.getpid(), model_socket=served).write(tmp_path)
    assert str(read_environment(DATA_DIR=tmp_path).model_socket()) == served
    assert str(read_environment(DATA_DIR=tmp_path, MODEL_SOCKET="/run/m.sock").model_socket()) == "/run/m.sock"


def test_containers_have_the_same_program_and_tell_all_where_it_is():
    services = yaml.safe_load((PROJECT_ROOT / "docker" / "compose.yaml").read_text(encoding="utf-8"))["services"]
    ours = {name: one for name, one in services.items() if one.get("image") == "ragsite"}

    assert services["models"]["command"] == ["python", *model_program().arguments]
    assert len(ours) > 5
    assert {one["environment"]["MODEL_SOCKET"] for one in ours.values()} == {"${MODEL_SOCKET:-/data/models.sock}"}
    assert all("data:/data" in one["volumes"] for one in ours.values())
