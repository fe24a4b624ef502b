"""Waiting for a condition, and for a service that listens on a port of our choice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from ragsite.embedded.processes import Process, ServiceError

PAUSE_SECONDS = 0.05
START_SECONDS = 30  # an older instance may still be writing
START_ATTEMPTS = 3  # at another port each


def wait_until(condition: Callable[[], bool], *, seconds: float, unless: Callable[[], bool] = lambda: False) -> bool:
    """Whether the condition came true in time; gives up early when `unless` does."""
    deadline = time.monotonic() + seconds
    while not condition():
        if unless() or time.monotonic() >= deadline:
            return False
        time.sleep(PAUSE_SECONDS)
    return True


class PortService(Protocol):
    """What Postgres and Redis have in common."""

    process: Process

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def choose_port(self) -> None: ...

    def answers(self) -> bool: ...


def wait_until_ready(service: PortService, *, name: str) -> None:
    """Return when the service answers; a service that ends at once is started again at another port.

    Someone may have taken the port between our choice and the start. Raises ServiceError with the end of the log.
    """
    for _attempt in range(START_ATTEMPTS):
        if wait_until(service.answers, seconds=START_SECONDS, unless=lambda: not service.process.is_running()):
            return
        service.stop()
        service.choose_port()
        service.start()
    raise ServiceError(f"{name} does not start ({service.process.log}):\n{service.process.log_tail()}")
