"""Fixtures of these tests."""

from __future__ import annotations

import pytest

from knowledge.connectors.rest import client
from knowledge.models import Source
from knowledge.services.sources import source_create
from tests.factories import scope_of


@pytest.fixture(autouse=True)
def hosts(settings):
    """This machine may be asked, and nobody waits."""
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1", "localhost")


@pytest.fixture
def waits(monkeypatch) -> list[float]:
    """Seconds that would have been waited."""
    seconds: list[float] = []
    monkeypatch.setattr(client, "sleep", seconds.append)
    return seconds


@pytest.fixture
def connected(owner):
    """A function that makes a source."""

    def make(kind: str, location: str, **values) -> Source:
        given = {"name": kind, "kind": kind, "location": location, **values}
        return source_create(scope=scope_of(owner), actor=owner, values=given)

    return make
