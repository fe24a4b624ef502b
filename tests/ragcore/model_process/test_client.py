"""Whoever asks the model process survives its death: it asks the next one, or says soon that nobody answers."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.model_process import client as client_module
from ragcore.model_process.client import MOST_LOSSES, ModelProcess
from ragcore.model_process.protocol import MAX_REQUEST_BYTES, Request, RequestTooLargeError
from ragsite.env import PROJECT_ROOT
from tests.ragcore.model_process.letters import HOLD, counts, letters, serving

SECONDS = 60
PASSAGES = ("base", "stations", "of the site")


class Served:
    """A model process of its own, that can be killed and started again."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def start(self, way: str) -> None:
        """`way`: what it does over the text "hold" (`letters`)."""
        command = [sys.executable, "-m", "tests.ragcore.model_process.letters", str(self._path), way]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT_ROOT)  # noqa: S603
        self.await_line("ready")

    def await_line(self, words: str) -> None:
        """Return when the program has said so; fails where it ends."""
        assert any(words in said for said in iter(self.child.stdout.readline, "")), words

    def end(self) -> None:
        self.child.kill()
        self.child.wait()
        self.child.stdout.close()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "models.sock"


@pytest.fixture
def served(path):
    process = Served(path)
    process.start("stays")
    yield process
    process.end()


def ask(path, *texts, seconds=SECONDS, **options):
    return ModelProcess(path).ask(Request(model=letters(), texts=texts, **options), seconds=seconds).rows


def test_who_asks_when_the_process_is_killed_gets_the_answer_of_the_next_one(served, path):
    with ThreadPoolExecutor(2) as pool:
        batch = pool.submit(ask, path, HOLD, *PASSAGES)
        served.await_line(HOLD)
        question = pool.submit(ask, path, "question", HOLD, is_urgent=True)

        served.end()
        served.start("goes on")

        np.testing.assert_array_equal(batch.result(SECONDS), counts([HOLD, *PASSAGES]))
        np.testing.assert_array_equal(question.result(SECONDS), counts(["question", HOLD]))


def test_a_question_that_is_computed_when_the_process_is_killed_is_asked_again(served, path):
    with ThreadPoolExecutor(1) as pool:
        question = pool.submit(ask, path, HOLD, is_urgent=True)
        served.await_line(HOLD)

        served.end()
        served.start("goes on")

        np.testing.assert_array_equal(question.result(SECONDS), counts([HOLD]))


def test_a_request_over_which_the_process_ends_each_time_is_given_up(served, path):
    with ThreadPoolExecutor(1) as pool:
        served.end()
        served.start("dies")
        deadly = pool.submit(ask, path, HOLD)
        for life in range(MOST_LOSSES):
            served.await_line(HOLD)
            served.child.wait(SECONDS)
            if life < MOST_LOSSES - 1:
                served.start("dies")

        with pytest.raises(ModelUnavailableError, match="does not answer"):
            deadly.result(SECONDS)


def test_a_process_that_is_frozen_is_not_waited_for(served, path, monkeypatch):
    monkeypatch.setattr(client_module, "SILENCE_SECONDS", 0.1)
    served.child.send_signal(signal.SIGSTOP)

    with pytest.raises(ModelUnavailableError, match="timed out"):
        ask(path, "question")

    served.child.send_signal(signal.SIGCONT)
    monkeypatch.undo()
    assert len(ask(path, "question")) == 1


def test_nobody_there_is_said_when_the_time_is_over(path):
    pauses = []

    with pytest.raises(ModelUnavailableError, match=r"'letters' does not answer: .*No such file"):
        ModelProcess(path, sleep=pauses.append).ask(Request(model=letters()), seconds=0.04)

    assert pauses == []  # the first pause would end later


def test_a_process_that_is_being_started_is_waited_for(path):
    with ExitStack() as stack:
        process = ModelProcess(path, sleep=lambda seconds: stack.enter_context(serving(path)))

        answer = process.ask(Request(model=letters(), texts=PASSAGES), seconds=SECONDS)

    np.testing.assert_array_equal(answer.rows, counts(PASSAGES))


def test_an_answer_that_is_none_is_no_reason_to_wait(path):
    def answer_nonsense():
        connection, _ = listening.accept()
        connection.recv(1000)
        connection.sendall(b"\0\0\0\2{}")
        connection.close()

    with socket.socket(socket.AF_UNIX) as listening, ThreadPoolExecutor(1) as pool:
        listening.bind(str(path))
        listening.listen()
        pool.submit(answer_nonsense)

        with pytest.raises(ModelUnavailableError, match="not an answer"):
            ask(path, "question")


def test_a_request_that_is_too_large_is_not_sent(path):
    with pytest.raises(RequestTooLargeError):
        ask(path, "x" * MAX_REQUEST_BYTES)
