"""`python -m ragsite.model_process`: holds the models of folders for all processes of this machine (MODEL_SOCKET).

Exit codes: 0 stopped, 1 failed, 2 another process serves at the socket.
"""

from __future__ import annotations

import fcntl
import logging.config
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragcore.embedding import sentence_model
from ragcore.model_process.server import Loader, ModelServer
from ragcore.reranking import cross_encoder
from ragsite.embedded.data_dir import MODEL_SOCKET_NAME
from ragsite.env import env
from ragsite.settings.logs import LOGGING

logger = logging.getLogger(__name__)

LOADERS: dict[str, Loader] = {
    sentence_model.KIND: sentence_model.load_sentences,
    cross_encoder.KIND: cross_encoder.HeldPairs,
}
COURTESY = 10  # of 19: passages take the processor that questions leave
ALREADY_RUNNING = 2


class AlreadyServedError(Exception):
    """Another process holds the socket."""


def main() -> int:
    logging.config.dictConfig(LOGGING)
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read with torch: threads that spin take others' processor
    path = (env.MODEL_SOCKET or env.DATA_DIR / MODEL_SOCKET_NAME).absolute()
    try:
        with sole_server(path):
            run(path)
    except AlreadyServedError:
        logger.error("another process serves models at %s", path)
        return ALREADY_RUNNING
    except OSError:
        logger.exception("models cannot be served at %s", path)
        return 1
    return 0


def run(path: Path) -> None:
    """Serves models at the socket until a signal to stop."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    with ModelServer(path, LOADERS, most_models=env.MODELS_IN_MEMORY, courtesy=COURTESY) as server:
        threading.Thread(target=server.serve, name="serve", daemon=True).start()
        logger.info("models are served at %s", path)
        stopping.wait()
        server.stop()


@contextmanager
def sole_server(path: Path) -> Iterator[None]:
    """Hold the right to serve at this socket; the kernel gives it back however the process ends.

    Raises AlreadyServedError where another process holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyServedError from None
        yield
    finally:
        os.close(lock)


if __name__ == "__main__":
    sys.exit(main())
