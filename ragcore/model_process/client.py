"""Client of the model process: sends texts, waits within a deadline, survives its restarts."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from pathlib import Path

from ragcore.errors import ModelUnavailableError
from ragcore.model_process.protocol import (
    Answer,
    ModelKey,
    Request,
    encode_request,
    read_answer,
)
from ragcore.model_process.socket_paths import short_path

QUESTION_SECONDS = 6.0  # below the limit of a search, which goes on without the vector
BATCH_SECONDS = 300.0
LOADING_SECONDS = 300.0  # of a model that is loaded first
SILENCE_SECONDS = 15.0  # after which a process that gives no sign of life counts as gone
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 1.0  # between two tries; doubles
MOST_LOSSES = 3  # times that the process may end over one request: it may be the reason


class ModelProcess:
    """The process at a socket. Thread-safe, and usable after a fork: each request has a connection of its own."""

    def __init__(self, path: Path, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._path = path
        self._sleep = sleep

    def load(self, model: ModelKey, *, seconds: float = LOADING_SECONDS) -> Answer:
        """Have a model loaded; no rows. Raises what `ask` does."""
        return self.ask(Request(model=model), seconds=seconds)

    def ask(self, request: Request, *, seconds: float) -> Answer:
        """The numbers for all texts. The process may be away, or end and start again meanwhile.

        Raises ModelUnavailableError where it does not answer in time or ends again and again, EmbedderRefusedError
        and RerankerRefusedError for a model that cannot be used, RequestTooLargeError.
        """
        message, deadline = encode_request(request), time.monotonic() + seconds
        pause, losses, problem = FIRST_PAUSE_SECONDS, 0, ""
        while losses < MOST_LOSSES:
            try:
                with self._connected(deadline) as connection:
                    return _exchange(connection, message, deadline)
            except _LostError as error:
                losses, problem = losses + 1, str(error)
            except OSError as error:  # nobody listens, at the moment
                problem = str(error)
            except ValueError as error:  # no answer of ours
                raise ModelUnavailableError("process_silent", model=request.model.source, problem=str(error)) from error
            if time.monotonic() + pause >= deadline:
                break
            self._sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
        raise ModelUnavailableError("process_silent", model=request.model.source, problem=problem)

    def _connected(self, deadline: float) -> socket.socket:
        """Raises OSError where nobody listens."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(_left(deadline))
            with short_path(self._path) as path:
                connection.connect(path)
        except BaseException:
            connection.close()
            raise
        return connection


class _LostError(Exception):
    """The process is gone or silent after it was reached."""


def _exchange(connection: socket.socket, message: bytes, deadline: float) -> Answer:
    """Raises _LostError, what `read_answer` raises for an answer of another kind, and the error of the server."""

    def read(count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            connection.settimeout(_left(deadline))
            part = connection.recv(min(count - len(parts), 1 << 20))
            if not part:
                raise EOFError("it ended over the request")
            parts += part
        return bytes(parts)

    try:
        connection.sendall(message)
        while isinstance(answer := read_answer(read), str):  # a sign of life
            pass
    except (EOFError, OSError) as error:
        raise _LostError(str(error)) from error
    return answer


def _left(deadline: float) -> float:
    """Seconds to wait for the next byte. Raises TimeoutError when the time is over."""
    seconds = min(deadline - time.monotonic(), SILENCE_SECONDS)
    if seconds <= 0:
        raise TimeoutError("timed out")
    return seconds
