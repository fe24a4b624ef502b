"""Client of the OCR process: starts it (worker.py), sends pictures, reads lines, restarts it when it fails."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Lock, Thread, Timer
from typing import Any

import ragcore
from ragcore.errors import RecognitionUnavailableError, ResourceLimitError
from ragcore.ocr.protocol import encode_request, lines_from_json, read_answer
from ragcore.parsing.sandbox.process import POLICY
from ragcore.types import Pixels, RecognisedLine

_ROOT = Path(ragcore.__file__).resolve().parents[1]
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}  # no secrets of the server


class RapidOcrRecogniser:
    """Chinese and English text of pictures. Thread-safe; threads wait for each other.

    The process starts with the first picture, and again when it ended, took too long or grew beyond `rss_bytes`. It
    ends after `idle_seconds` without a picture: it holds a quarter of a gigabyte.
    """

    name = "rapidocr"

    def __init__(
        self,
        *,
        timeout_seconds: float = 120.0,  # of one picture; it takes 2 on an idle machine
        start_seconds: float = 60.0,
        rss_bytes: int = 1_200 * 1024 * 1024,
        idle_seconds: float = 60.0,
    ) -> None:
        self._timeout_seconds = timeout_seconds
        self._start_seconds = start_seconds
        self._rss_bytes = rss_bytes
        self._idle_seconds = idle_seconds
        self._idle: Timer | None = None
        self._lock = Lock()
        self._worker: _Worker | None = None
        atexit.register(self.close)

    def recognise(self, pixels: Pixels) -> list[RecognisedLine]:
        """Lines from top to bottom; none where there is no text.

        Raises RecognitionUnavailableError when the process does not start or dies twice over this picture,
        ResourceLimitError when the picture takes longer than `timeout_seconds`, ValueError for a malformed picture.
        """
        message = encode_request(pixels)
        with self._lock:
            try:
                return self._ask(message)
            except (EOFError, OSError):  # it ended, now or since the last picture: once more with a new one
                self._end()
            try:
                return self._ask(message)
            except (EOFError, OSError) as problem:
                self._end()
                raise RecognitionUnavailableError(problem="the process ended twice") from problem

    def close(self) -> None:
        """End the process; the next picture starts a new one."""
        with self._lock:
            self._end()

    def _ask(self, message: bytes) -> list[RecognisedLine]:
        """One picture, one answer. Raises EOFError or OSError when the process has gone."""
        worker = self._running()
        try:
            answer = worker.exchange(message, seconds=self._timeout_seconds)
            if "error" in answer:
                raise RecognitionUnavailableError(problem=str(answer["error"]))
            lines = lines_from_json(answer)
        except TimeoutError as problem:
            self._end()
            raise ResourceLimitError("slow_recognition", problem="time") from problem
        except ValueError as problem:
            self._end()
            raise RecognitionUnavailableError(problem=str(problem)) from problem
        if answer.get("rss_bytes", 0) > self._rss_bytes:
            self._end()
        else:
            self._end_when_idle()
        return lines

    def _end_when_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = Timer(self._idle_seconds, self.close)
        self._idle.daemon = True
        self._idle.start()

    def _running(self) -> _Worker:
        """The process of this process: one that was started before a fork belongs to the parent."""
        if self._worker is not None and self._worker.owner == os.getpid():
            return self._worker
        self._worker = _Worker()
        try:
            answer = self._worker.exchange(b"", seconds=self._start_seconds)
        except (EOFError, OSError, ValueError) as problem:  # OSError: also too slow
            self._end()
            raise RecognitionUnavailableError(problem="the process does not start") from problem
        if "error" in answer:
            self._end()
            raise RecognitionUnavailableError(problem=str(answer["error"]))
        return self._worker

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None and worker.owner == os.getpid():
            worker.end()


class _Worker:
    """One process and the socket that it listens to."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._channel, far_end = socket.socketpair()
        started = Event()
        # the kernel ends the process with the thread that started it (PR_SET_PDEATHSIG), so that no worker outlives
        # a killed server; a thread of its own keeps it from ending with whichever thread read the first picture
        self._keeper = Thread(target=self._keep, args=(far_end, started), name="ocr-keeper", daemon=True)
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper.start()
        started.wait()

    def _keep(self, far_end: socket.socket, started: Event) -> None:
        try:
            with far_end:
                self._process = subprocess.Popen(
                    [sys.executable, "-E", "-s", "-m", "ragcore.ocr.worker", *(["--confined"] * POLICY.required)],
                    stdin=far_end.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd=_ROOT,
                    env=_ENVIRONMENT,
                    close_fds=True,
                    start_new_session=True,
                )
        finally:
            started.set()
        self._process.wait()

    def exchange(self, message: bytes, *, seconds: float) -> dict[str, Any]:
        """Send a message, or none, and wait for the answer. Raises TimeoutError, EOFError, OSError, ValueError."""
        deadline = time.monotonic() + seconds
        self._channel.settimeout(seconds)
        self._channel.sendall(message)

        def read(count: int) -> bytes:
            parts = bytearray()
            while len(parts) < count:
                self._channel.settimeout(max(deadline - time.monotonic(), 0.001))
                part = self._channel.recv(min(count - len(parts), 1 << 20))
                if not part:
                    raise EOFError
                parts += part
            return bytes(parts)

        return read_answer(read)

    def end(self) -> None:
        """Kill the process and wait until it is gone."""
        self._channel.close()
        if self._process is not None:
            self._process.kill()
        self._keeper.join()
