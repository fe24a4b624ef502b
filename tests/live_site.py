"""Programs of the product as processes of their own, on the test database."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from django.db import connection

from ragcore.client_registry import tls_context
from ragsite.embedded.processes import Process, free_port, wait_until

ROOT = Path(__file__).resolve().parents[1]
START_SECONDS = 240  # the first start on a machine compiles every module and exports the embedding model


def child_environment() -> dict[str, str]:
    """That of this process, with the test database, which has another name than the one of DATABASE_URL."""
    values = connection.settings_dict
    address = f"{values['USER']}:{values['PASSWORD']}@{values['HOST']}:{values['PORT'] or 5432}"
    database = f"postgresql://{address}/{values['NAME']}"
    if values["HOST"].startswith("/"):
        database = f"postgresql://{values['USER']}@/{values['NAME']}?host={values['HOST']}"
    return {**os.environ, "DATABASE_URL": database, "DJANGO_SETTINGS_MODULE": "ragsite.settings"}


@contextmanager
def running(*arguments: str, folder: Path, **variables: str) -> Iterator[Process]:
    """`python ARGUMENTS…` in the project's folder; its output goes into a log in `folder`."""
    process = Process(
        name="program",
        command=[sys.executable, *arguments],
        log=folder / "program.log",
        environment={**child_environment(), **variables},
        folder=ROOT,
    )
    process.start()
    try:
        yield process
    finally:
        process.stop(seconds=10)


@contextmanager
def serving_site(folder: Path) -> Iterator[str]:
    """The web process; its address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    arguments = ("-m", "uvicorn", "ragsite.asgi:application", "--port", str(port), "--no-access-log")
    with running(*arguments, folder=folder) as site:
        await_answer(f"{url}/health", site)
        yield url


def await_answer(url: str, process: Process) -> None:
    """Wait until something answers at the address; fails with the log of the process."""

    def answers() -> bool:
        try:
            return httpx.get(url, timeout=2, verify=tls_context()).status_code > 0
        except httpx.TransportError:
            return False

    ready = wait_until(answers, seconds=START_SECONDS, unless=lambda: not process.is_running())
    assert ready, process.log_tail(60)
