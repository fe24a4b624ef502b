"""Scores of rerankers in Redis."""

import os

import pytest

from knowledge.model_registry import RedisScoreCache


@pytest.fixture
def cache(redis_client):
    return RedisScoreCache(os.environ["REDIS_URL"], ttl_seconds=60)


def test_what_is_kept_is_found_for_the_same_question_only(cache):
    cache.put("q1", {"a": 1.25, "b": -7.5})

    assert cache.get("q1", ["b", "c", "a"]) == [-7.5, None, 1.25]
    assert cache.get("q2", ["a"]) == [None]


def test_scores_of_a_question_expire(cache, redis_client):
    cache.put("q1", {"a": 1.0})

    assert 0 < redis_client.ttl("rerank:q1") <= 60


def test_nothing_is_written_for_nothing(cache, redis_client):
    cache.put("q1", {})

    assert redis_client.keys("*") == []


@pytest.mark.parametrize("value", ["", "text", "not8byte!", "\0\0\0\0\0\0\0"])
def test_what_others_wrote_is_not_known(cache, redis_client, value):
    redis_client.hset("rerank:q1", "a", value)

    assert cache.get("q1", ["a"]) == [None]


def test_without_redis_nothing_is_known_and_nothing_fails(caplog):
    cache = RedisScoreCache("redis://127.0.0.1:1/0")

    cache.put("q1", {"a": 1.0})

    assert cache.get("q1", ["a"]) == [None]
    assert "cannot be read" in caplog.text
