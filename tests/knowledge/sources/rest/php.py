"""Programs written in PHP, served by PHP itself."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

START_SECONDS = 60


def php_required(program: Path) -> None:
    """Skip the test where PHP or the program is not installed."""
    if shutil.which("php") is None or not program.is_dir():
        pytest.skip(f"php and {program} are not installed")


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def php_served(
    program: Path,
    *,
    port: int,
    log: Path,
    first: str,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """The address of the program; it is ready when it answers at the path `first`."""
    command = ["php", *options, "-S", f"127.0.0.1:{port}", "-t", str(program)]
    address = f"http://127.0.0.1:{port}"
    with log.open("wb") as words:
        server = subprocess.Popen(command, stdout=words, stderr=words, env={**os.environ, **(env or {})})  # noqa: S603
    try:
        end = time.monotonic() + START_SECONDS
        while not _answers(address + first) and time.monotonic() < end:
            assert server.poll() is None, log.read_text()
        yield address
    finally:
        server.terminate()
        server.wait(10)


def _answers(address: str) -> bool:
    try:
        return httpx.get(address, timeout=START_SECONDS).status_code < 500
    except httpx.TransportError:
        return False
