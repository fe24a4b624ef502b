"""Fixtures for tests of the HTTP API."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from tests.api.world import World, client_of, world_make


@pytest.fixture
def world(db: None) -> World:
    return world_make()


@pytest.fixture
def root(world: World) -> APIClient:
    return client_of(world.root)


@pytest.fixture
def alice(world: World) -> APIClient:
    return client_of(world.alice)


@pytest.fixture
def bob(world: World) -> APIClient:
    return client_of(world.bob)


@pytest.fixture
def eve(world: World) -> APIClient:
    return client_of(world.eve)
