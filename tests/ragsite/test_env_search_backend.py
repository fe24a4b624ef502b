"""Variables that name another search backend."""

import os
import subprocess
import sys

import pytest

from ragsite import env
from ragsite.env import PROJECT_ROOT, InvalidEnvironmentError, read_environment


def faults(**variables):
    with pytest.raises(InvalidEnvironmentError) as caught:
        read_environment(**variables)
    return caught.value.faults


def test_postgres_needs_nothing():
    assert read_environment().SEARCH_BACKEND == "postgres"


@pytest.mark.parametrize("uri", ["http://milvus:19530", "https://milvus.example.com", "/data/milvus.db"])
def test_milvus_is_a_server_or_a_file(uri):
    assert uri == read_environment(SEARCH_BACKEND="milvus", MILVUS_URI=uri).MILVUS_URI


def test_milvus_needs_an_address():
    assert faults(SEARCH_BACKEND="milvus") == {"MILVUS_URI": "is required where SEARCH_BACKEND is milvus"}


def test_other_addresses_and_backends_are_refused():
    assert "must be a URL" in faults(MILVUS_URI="milvus:19530")["MILVUS_URI"]
    assert "SEARCH_BACKEND" in faults(SEARCH_BACKEND="elastic")
    assert "MILVUS_COLLECTION" in faults(MILVUS_COLLECTION="a b; drop")


def test_a_missing_package_is_said_before_anything_starts(monkeypatch):
    monkeypatch.setattr(env, "find_spec", lambda name: None)

    found = faults(SEARCH_BACKEND="milvus", MILVUS_URI="http://milvus:19530")

    assert found["MILVUS_URI"].endswith("pip install pymilvus")
    assert "milvus-lite" in faults(SEARCH_BACKEND="milvus", MILVUS_URI="/data/m.db")["MILVUS_URI"]
    assert read_environment(MILVUS_URI="http://milvus:19530").SEARCH_BACKEND == "postgres"


def test_tokens_are_not_shown():
    shown = repr(read_environment(SEARCH_BACKEND="milvus", MILVUS_URI="http://u:hunter2@m:1", MILVUS_TOKEN="hunter3"))

    assert "hunter" not in shown


def test_the_client_is_loaded_by_nobody_who_does_not_search_there():
    script = (
        "import sys, django; django.setup(); import knowledge.services.backend_sync, knowledge.wiring\n"
        "import knowledge.backends.milvus.search\n"
        "print([m for m in ('pymilvus', 'grpc', 'pandas') if m in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=PROJECT_ROOT, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().splitlines()[-1] == "[]"


@pytest.mark.full
def test_the_client_is_kept_from_reading_the_address_by_itself(tmp_path):
    """It would refuse a file while it is loaded."""
    script = (
        "import os, django; django.setup(); from knowledge.backends.milvus.collection import builders\n"
        "print(builders().__name__, os.environ['MILVUS_URI'])"
    )
    file = str(tmp_path / "lite.db")

    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=PROJECT_ROOT,
        check=False,
        env={**os.environ, "SEARCH_BACKEND": "milvus", "MILVUS_URI": file},
    )

    assert done.stdout.split() == ["MilvusClient", file], done.stderr
