"""Fixtures for the services that `tests.services_plugin` starts."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import redis
from django.conf import settings


def pytest_configure() -> None:
    """Sign-ins in tests are many and their passwords protect nothing, so they are hashed quickly."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher", *settings.PASSWORD_HASHERS]


@pytest.fixture
def redis_client() -> Iterator[redis.Redis]:
    """The Redis of this test process, empty before and after the test."""
    with redis.Redis.from_url(os.environ["REDIS_URL"], decode_responses=True) as client:
        client.flushdb()
        yield client
        client.flushdb()
