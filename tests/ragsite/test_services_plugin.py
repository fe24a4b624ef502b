import os

from tests.services_plugin import own_redis_database


def test_the_services_of_the_run_answer(redis_client):
    redis_client.set("asked", 1)

    assert redis_client.get("asked") == "1"
    assert os.environ["DATABASE_URL"].startswith("postgresql://")


def test_workers_do_not_share_a_redis_database():
    url = "redis://:secret@127.0.0.1:7000/0"

    assert own_redis_database(url, "gw0") == "redis://:secret@127.0.0.1:7000/1"
    assert own_redis_database(url, "gw1") == "redis://:secret@127.0.0.1:7000/2"
