import os

from tests.services_plugin import models_folder, own_folder, own_redis_database


def test_the_services_of_the_run_answer(redis_client):
    redis_client.set("asked", 1)

    assert redis_client.get("asked") == "1"
    assert os.environ["DATABASE_URL"].startswith("postgresql://")


def test_workers_do_not_share_a_redis_database():
    url = "redis://:secret@127.0.0.1:7000/0"

    assert own_redis_database(url, "gw0") == "redis://:secret@127.0.0.1:7000/1"
    assert own_redis_database(url, "gw1") == "redis://:secret@127.0.0.1:7000/2"


def test_workers_have_files_of_their_own_and_the_models_of_all(tmp_path):
    (tmp_path / "all").mkdir()
    (tmp_path / "models").symlink_to(tmp_path / "all")

    first, second = own_folder(tmp_path, "gw0"), own_folder(tmp_path, "gw1")

    assert first != second
    assert (first / "models").resolve() == (second / "models").resolve() == tmp_path / "all"


def test_models_are_kept_for_the_user_or_else_in_the_clone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert models_folder().parent == tmp_path / "ragsite-tests"

    (tmp_path / "a file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "a file"))
    assert ".pytest_cache" in models_folder().parts
