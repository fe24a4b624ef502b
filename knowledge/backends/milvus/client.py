"""The connection to Milvus: loaded on first use, short of patience, and left alone for a while when it is down."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from django.conf import settings

from knowledge.errors import BackendRefusedError, BackendUnavailableError

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 2.0
SEARCH_SECONDS = 3.0
WRITE_SECONDS = 60.0
REST_SECONDS = 10.0  # after a failure nobody waits for it again, that long; a process each
REFUSALS = {1, 6, 100, 700, 1100, 1101, 1102, 1804}  # codes of requests that will fail again: faults in what was asked

_lock = threading.Lock()
_clients: dict[tuple[int, str, str], Any] = {}  # by process: channels do not survive a fork
_resting: dict[str, float] = {}  # uri -> until when


def call(method: str, *, seconds: float, **arguments: Any) -> Any:
    """Call a method of MilvusClient. Raises BackendUnavailableError or BackendRefusedError, nothing else of its own."""
    uri = settings.MILVUS_URI
    if _resting.get(uri, 0.0) > time.monotonic():
        raise BackendUnavailableError
    package = _package()
    try:
        return getattr(_client(uri), method)(timeout=seconds, **arguments)
    except package.MilvusException as error:
        raise _translated(error, uri=uri, method=method) from error
    except (package.client.grpc_handler.grpc.RpcError, OSError) as error:
        raise _unavailable(uri, method, error) from error


def rested() -> None:
    """Forget that it was down: the next call tries."""
    _resting.clear()


def is_lite() -> bool:
    """Whether it is Milvus Lite, which runs inside this process and knows fewer types."""
    return not settings.MILVUS_URI.startswith(("http://", "https://"))


def builders() -> Any:
    """The class whose static methods make schemas and indexes."""
    return _package().MilvusClient


def data_types() -> Any:
    return _package().DataType


def _package() -> Any:
    """pymilvus, loaded on first use: only those who search there have it.

    While it is loaded it reads MILVUS_URI by itself, and refuses files there, and any `.env` that it finds above its
    folder into our environment; so it is kept from both.
    """
    with _lock:
        if "pymilvus" in sys.modules:
            return sys.modules["pymilvus"]
        before = dict(os.environ)
        os.environ.pop("MILVUS_URI", None)
        os.environ["PYTHON_DOTENV_DISABLED"] = "1"
        try:
            return import_module("pymilvus")
        finally:
            os.environ.pop("PYTHON_DOTENV_DISABLED")
            os.environ.update(before)


def _client(uri: str) -> Any:
    key, make = (os.getpid(), uri, settings.MILVUS_TOKEN), builders()
    with _lock:
        if key not in _clients:
            _quieten()
            extra: Mapping[str, Any] = {"token": settings.MILVUS_TOKEN} if settings.MILVUS_TOKEN else {}
            _clients[key] = make(uri=uri, timeout=CONNECT_SECONDS, **extra)
        return _clients[key]


def _quieten() -> None:
    """Every failure is logged here, once, in words; Lite runs in this process and says much that nobody needs."""
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    if is_lite():
        logging.getLogger("milvus_lite").setLevel(logging.ERROR)
        logging.getLogger("grpc._server").setLevel(logging.CRITICAL)


def _translated(error: Any, *, uri: str, method: str) -> Exception:
    faults = _package().exceptions
    if error.code in REFUSALS or isinstance(error, (faults.ParamError, faults.DataNotMatchException)):
        return BackendRefusedError("milvus", method=method, problem=str(error.message)[:500])
    return _unavailable(uri, method, error)


def _unavailable(uri: str, method: str, error: Exception) -> BackendUnavailableError:
    logger.warning("Milvus does not answer (%s); not asked again for %.0f s: %s", method, REST_SECONDS, error)
    _resting[uri] = time.monotonic() + REST_SECONDS
    return BackendUnavailableError()
