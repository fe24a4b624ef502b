from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from ragcore.errors import RecognitionUnavailableError, ResourceLimitError
from ragcore.ocr.client import RapidOcrRecogniser
from tests.contracts.recogniser import BLANK, TWO_LINES, RecogniserContract
from tests.ragcore.ocr.drawing import drawn, pixels_of


@pytest.fixture(scope="module")
def shared():
    recogniser = RapidOcrRecogniser()
    yield recogniser
    recogniser.close()


@pytest.fixture
def started(monkeypatch):
    """The processes that the recogniser starts."""
    processes: list[subprocess.Popen[bytes]] = []
    original = subprocess.Popen

    def popen(*arguments, **options):
        processes.append(original(*arguments, **options))
        return processes[-1]

    monkeypatch.setattr(subprocess, "Popen", popen)
    return processes


class TestRapidOcr(RecogniserContract):
    @pytest.fixture
    def recogniser(self, shared):
        return shared


def test_no_process_is_started_before_the_first_picture(started):
    RapidOcrRecogniser().close()

    assert started == []


@pytest.mark.full
def test_a_process_without_work_ends_and_the_next_picture_starts_another(started):
    recogniser = RapidOcrRecogniser(idle_seconds=0.01)
    try:
        recogniser.recognise(BLANK)
        assert started[0].wait(60) is not None

        assert len(recogniser.recognise(TWO_LINES)) == 2
        assert len(started) == 2
    finally:
        recogniser.close()


@pytest.mark.full
def test_a_process_that_died_is_replaced(started):
    recogniser = RapidOcrRecogniser()
    try:
        recogniser.recognise(BLANK)
        os.kill(started[0].pid, signal.SIGKILL)
        started[0].wait()

        assert len(recogniser.recognise(TWO_LINES)) == 2
        assert len(started) == 2
    finally:
        recogniser.close()


def test_a_process_that_does_not_start_is_reported(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")

    with pytest.raises(RecognitionUnavailableError):
        RapidOcrRecogniser().recognise(BLANK)


def test_a_picture_that_takes_too_long_ends_the_process_and_not_the_service(started):
    page = pixels_of(
        drawn([(10, 40 * n, "many words in a long line " * 3) for n in range(30)], width=1400, height=1300)
    )
    recogniser = RapidOcrRecogniser()
    try:
        recogniser.recognise(BLANK)
        recogniser._timeout_seconds = 0.05

        with pytest.raises(ResourceLimitError):
            recogniser.recognise(page)
        assert started[0].wait() == -signal.SIGKILL

        recogniser._timeout_seconds = 60.0
        assert recogniser.recognise(BLANK) == []
    finally:
        recogniser.close()


@pytest.mark.full
def test_a_process_that_grew_too_large_is_replaced_after_its_answer(started):
    recogniser = RapidOcrRecogniser(rss_bytes=1)
    try:
        assert len(recogniser.recognise(TWO_LINES)) == 2

        assert started[0].wait() == -signal.SIGKILL
    finally:
        recogniser.close()


@pytest.mark.full
def test_the_process_outlives_the_thread_that_asked_first(started):
    recogniser = RapidOcrRecogniser()
    try:
        thread = Thread(target=recogniser.recognise, args=(BLANK,))
        thread.start()
        thread.join()

        assert recogniser.recognise(BLANK) == []
        assert len(started) == 1
    finally:
        recogniser.close()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_the_process_has_no_secrets_no_network_and_no_programs(monkeypatch, started):
    monkeypatch.setenv("DATABASE_PASSWORD", "secret")
    recogniser = RapidOcrRecogniser()
    try:
        recogniser.recognise(BLANK)
        process = Path(f"/proc/{started[0].pid}")

        assert b"secret" not in (process / "environ").read_bytes()
        assert "Seccomp:\t2" in (process / "status").read_text()
    finally:
        recogniser.close()
