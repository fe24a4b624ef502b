"""The model process: loads models on demand, at most so many at a time, and computes for whoever asks."""

from __future__ import annotations

import gc
import logging
import os
import socket
import socketserver
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from ragcore.errors import ModelUnavailableError, RagError
from ragcore.model_process.protocol import (
    Answer,
    ModelKey,
    Request,
    encode_answer,
    encode_error,
    encode_state,
    read_request,
)
from ragcore.model_process.socket_paths import short_path
from ragcore.model_process.turns import Job, Pace, Turns
from ragcore.ports import FloatArray

logger = logging.getLogger(__name__)
T = TypeVar("T")

SIGN_OF_LIFE_SECONDS = 2.0
REQUEST_SECONDS = 10.0  # until a request is there as a whole, and for each part of its answer
MOST_CONNECTIONS = 128
BACKLOG = 128


class ServedModel(Protocol):
    """A loaded model; computes in one thread at a time."""

    @property
    def batch(self) -> int:
        """Texts that it takes best at a time; 0: it does not say."""
        ...

    def compute(self, question: str, texts: Sequence[str]) -> FloatArray:
        """float32[n, d], row i for text i."""
        ...


Loader = Callable[..., ServedModel]  # source, and the options of a ModelKey by name; raises RagError


class LoadedModels:
    """At most `most` models; where one more is loaded, the one that was not asked for the longest time goes."""

    def __init__(self, loaders: Mapping[str, Loader], *, most: int) -> None:
        self._loaders, self._most = loaders, most
        self._models: OrderedDict[ModelKey, tuple[ServedModel, Pace]] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, key: ModelKey) -> tuple[ServedModel, Pace] | None:
        with self._lock:
            if key in self._models:
                self._models.move_to_end(key)
            return self._models.get(key)

    def loaded(self, key: ModelKey) -> tuple[ServedModel, Pace]:
        """The model; loads it where it is not there. One thread at a time. Raises RagError."""
        if (served := self.known(key)) is not None:
            return served
        self._make_room()
        start = time.monotonic()
        with _failures_told(key.source):
            entry = (self._loaders[key.kind](key.source, **dict(key.options)), Pace())
        logger.info("%s was loaded in %.1f s", key.source, time.monotonic() - start)
        with self._lock:
            self._models[key] = entry
        return entry

    def _make_room(self) -> None:
        with self._lock:
            dropped = [self._models.popitem(last=False)[0] for _ in range(len(self._models) - self._most + 1)]
        for key in dropped:
            logger.warning("%s leaves memory, where %d models have room", key.source, self._most)
        if dropped:
            gc.collect()  # modules refer to each other


class ModelServer:
    """Listens at a socket that only its owner may use. Context manager; `serve` returns after `stop`.

    The caller makes sure that no other process serves there: a socket that is left over is replaced.
    `courtesy`: niceness of what nobody waits for, on Linux.
    """

    def __init__(self, path: Path, loaders: Mapping[str, Loader], *, most_models: int, courtesy: int = 0) -> None:
        self.models = LoadedModels(loaders, most=most_models)
        self.turns = Turns()
        self._path, self._courtesy = path, courtesy
        self._loading = ThreadPoolExecutor(1, "loading")
        self._connections = _Connections(path, self)

    def serve(self) -> None:
        for is_urgent in (True, False):
            lane = threading.Thread(target=self._lane, args=(is_urgent,), name=f"lane-{is_urgent}", daemon=True)
            lane.start()
        self._connections.serve_forever(poll_interval=0.2)

    def stop(self) -> None:
        """From another thread than that of `serve`."""
        self._connections.shutdown()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._path.unlink(missing_ok=True)
        self._connections.server_close()
        self.turns.close()
        self._loading.shutdown(wait=False, cancel_futures=True)

    def answer(self, request: Request, sign_of_life: Callable[[str], None]) -> Answer:
        """`sign_of_life` is called now and then, and may raise OSError: whoever asks is gone.

        Raises RagError.
        """
        model, pace = self.models.known(request.model) or _awaited(
            self._loading.submit(self.models.loaded, request.model), lambda: sign_of_life("loading")
        )
        if not request.texts:
            return Answer(np.zeros((0, 0), np.float32), model.batch)
        job = Job(request.texts, partial(_computed, model, request), pace, is_urgent=request.is_urgent)
        self.turns.add(job)
        try:
            rows = _awaited(job.result, lambda: sign_of_life("waiting"))
        except OSError:
            job.result.cancel()
            raise
        return Answer(rows, model.batch)

    def _lane(self, is_urgent: bool) -> None:
        if self._courtesy and not is_urgent and sys.platform == "linux":  # where it means a thread
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._courtesy)
        self.turns.run(is_urgent=is_urgent)


class _Connections(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """A thread for each connection."""

    daemon_threads, block_on_close = True, False
    request_queue_size = BACKLOG

    def __init__(self, path: Path, models: ModelServer) -> None:
        self.models, self._path = models, path
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__(str(path), _Connection)

    def server_bind(self) -> None:
        self._path.unlink(missing_ok=True)
        umask = os.umask(0o177)  # nobody but the owner, from the first moment
        try:
            with short_path(self._path) as name:
                self.socket.bind(name)
        finally:
            os.umask(umask)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return self._places.acquire(blocking=False)  # else it is closed, and asks again later

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        logger.exception("a request failed")


class _Connection(socketserver.BaseRequestHandler):
    """One request. Whoever sends half of one, or does not read the answer, loses the connection."""

    request: socket.socket
    server: _Connections

    def handle(self) -> None:
        with suppress(EOFError, OSError):  # whoever asked is gone
            self._send(self._answer())

    def _answer(self) -> bytes:
        try:
            request = read_request(self._reader())
            return encode_answer(self.server.models.answer(request, lambda state: self._send(encode_state(state))))
        except RagError as error:
            return encode_error(error)
        except ValueError as error:
            logger.warning("a request was refused: %s", error)
            return encode_error(ModelUnavailableError("model_failed", model="", problem=str(error)))

    def _reader(self) -> Callable[[int], bytes]:
        deadline = time.monotonic() + REQUEST_SECONDS

        def read(count: int) -> bytes:
            parts = bytearray()
            while len(parts) < count:
                self.request.settimeout(max(deadline - time.monotonic(), 0.001))
                part = self.request.recv(min(count - len(parts), 1 << 20))
                if not part:
                    raise EOFError
                parts += part
            return bytes(parts)

        return read

    def _send(self, message: bytes) -> None:
        self.request.settimeout(REQUEST_SECONDS)
        self.request.sendall(message)


def _computed(model: ServedModel, request: Request, texts: Sequence[str]) -> FloatArray:
    with _failures_told(request.model.source):
        return model.compute(request.question, texts)


@contextmanager
def _failures_told(source: str) -> Iterator[None]:
    """Whatever a model raises becomes a RagError, so that nothing else is taken for it."""
    try:
        yield
    except RagError:
        raise
    except Exception as error:
        logger.exception("%s failed", source)
        raise ModelUnavailableError("model_failed", model=source, problem=str(error) or type(error).__name__) from error


def _awaited(future: Future[T], sign_of_life: Callable[[], None]) -> T:
    while not wait([future], SIGN_OF_LIFE_SECONDS).done:
        sign_of_life()
    return future.result()
