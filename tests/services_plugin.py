"""Starts PostgreSQL and Redis once for a test run, before Django reads its settings.

Loaded by `-p tests.services_plugin` (pyproject.toml): pytest-django imports the settings while pytest still looks for
conftest files, so a fixture would come too late. Workers of pytest-xdist inherit the environment of the controller and
get a folder and a Redis database of their own; pytest-django gives them a PostgreSQL database of their own.
`DATABASE_URL` or `REDIS_URL` of the caller are used as they are.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXPORTERS = ("minilm_export.py", "e5_export.py", "e5_pairs.py", "e5_pairs_1.npz", "e5_weights.py", "unigram.py")
MIGRATED_LOCK = "TESTS_MIGRATED_LOCK"  # variable of the environment: where workers agree on who migrates
running = ExitStack()

# Where it is set, as in many containers, each process of the tests would compile every module again, which takes 18 s,
# and each program that one starts all of its own.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# The processes of the tests fill the cores already; threads of a matrix product would only wait for each other.
for library in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(library, "1")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    os.environ.setdefault("TLS", "0")  # test clients and servers of tests speak plain http
    os.environ.setdefault(
        "EMBEDDER", "embedded"
    )  # any model will do for most tests; the English one takes half the time
    if worker := os.environ.get("PYTEST_XDIST_WORKER"):
        os.environ["REDIS_URL"] = own_redis_database(os.environ["REDIS_URL"], worker)
        if folder := os.environ.get("DATA_DIR"):
            os.environ["DATA_DIR"] = str(own_folder(Path(folder), worker))
    elif not os.environ.get("DATABASE_URL"):
        start_services()
    return (yield)


def start_services() -> None:
    """Set the variables of the environment that lead to fresh services in a folder of their own."""
    from ragsite.embedded.services import EmbeddedServices

    folder = Path(tempfile.mkdtemp(prefix="ragsite-tests-"))
    running.callback(shutil.rmtree, folder, ignore_errors=True)
    (folder / "models").symlink_to(models_folder())
    services = running.enter_context(EmbeddedServices(folder, durable=False))
    os.environ["DATA_DIR"] = str(folder)
    os.environ["DATABASE_URL"] = services.database_url or ""
    os.environ["REDIS_URL"] = os.environ.get("REDIS_URL") or services.redis_url or ""
    os.environ[MIGRATED_LOCK] = str(folder / "migrated.lock")
    os.environ.setdefault("SECRET_KEY", "not a secret: tests only, never outside")


def models_folder() -> Path:
    """Where the exported embedding models outlive the run: making each takes 15 s of processor time."""
    sources = [*(ROOT / "ragcore/embedding" / name for name in EXPORTERS), ROOT / "requirements.lock"]
    version = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:16]
    return kept_folder(f"models-{version}")


def kept_folder(name: str) -> Path:
    """A folder that outlives the run. What is in it is named by what it depends on.

    The cache folder of the user, so that a new clone finds what an older one has made; where that cannot be written, a
    folder of this clone.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for folder in (caches / "ragsite-tests" / name, ROOT / ".pytest_cache" / name.partition("-")[0]):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise pytest.UsageError(f"no folder {name} can be written")


def own_redis_database(url: str, worker: str) -> str:
    """A database of its own for each worker (gw0, gw1, …), as pytest-django gives them one in PostgreSQL."""
    number = int(worker.removeprefix("gw")) % 15 + 1
    return urlsplit(url)._replace(path=f"/{number}").geturl()


def own_folder(folder: Path, worker: str) -> Path:
    """A DATA_DIR for the files of a worker, with the models of all."""
    own = folder / worker
    own.mkdir(exist_ok=True)
    if not (own / "models").exists():
        (own / "models").symlink_to((folder / "models").resolve())
    return own


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    running.close()
