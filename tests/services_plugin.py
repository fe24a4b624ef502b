"""Starts PostgreSQL and Redis once for a test run, before Django reads its settings.

Loaded by `-p tests.services_plugin` (pyproject.toml): pytest-django imports the settings while pytest still looks for
conftest files, so a fixture would come too late. Workers of pytest-xdist inherit the environment of the controller.
`DATABASE_URL` or `REDIS_URL` of the caller are used as they are.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

running = ExitStack()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        os.environ["REDIS_URL"] = own_redis_database(os.environ["REDIS_URL"], worker)
    elif not os.environ.get("DATABASE_URL"):
        start_services(models=early_config.rootpath / ".pytest_cache" / "models")
    return (yield)


def start_services(*, models: Path) -> None:
    """Set the variables of the environment that lead to fresh services in a folder of their own.

    Only the exported embedding model outlives the run: making it takes half a minute of processor time.
    """
    from ragsite.embedded.services import EmbeddedServices

    folder = Path(tempfile.mkdtemp(prefix="ragsite-tests-"))
    running.callback(shutil.rmtree, folder, ignore_errors=True)
    models.mkdir(parents=True, exist_ok=True)
    (folder / "models").symlink_to(models)
    services = running.enter_context(EmbeddedServices(folder, durable=False))
    os.environ["DATA_DIR"] = str(folder)
    os.environ["DATABASE_URL"] = services.database_url or ""
    os.environ["REDIS_URL"] = os.environ.get("REDIS_URL") or services.redis_url or ""
    os.environ.setdefault("SECRET_KEY", "not a secret: tests only, never outside")


def own_redis_database(url: str, worker: str) -> str:
    """A database of its own for each worker (gw0, gw1, …), as pytest-django gives them one in PostgreSQL."""
    number = int(worker.removeprefix("gw")) % 15 + 1
    return urlsplit(url)._replace(path=f"/{number}").geturl()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    running.close()
