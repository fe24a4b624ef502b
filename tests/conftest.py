"""Fixtures for the services that `tests.services_plugin` starts."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import redis


@pytest.fixture
def redis_client() -> Iterator[redis.Redis]:
    """The Redis of this test process, empty before and after the test."""
    with redis.Redis.from_url(os.environ["REDIS_URL"], decode_responses=True) as client:
        client.flushdb()
        yield client
        client.flushdb()
