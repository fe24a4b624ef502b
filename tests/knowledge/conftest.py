"""Fixtures of the knowledge app."""

import pytest

from tests.factories import make_admin, make_set


@pytest.fixture
def owner():
    return make_admin()


@pytest.fixture
def common(owner):
    return make_set("common", owners=[owner])
