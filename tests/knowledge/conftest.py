"""Fixtures of the knowledge app."""

import pytest

from tests.factories import make_admin, make_set


@pytest.fixture
def owner(request):
    """Of the rows that a file shares, where a test starts from those (`tests.knowledge.owned_rows`)."""
    return request.getfixturevalue("kept_rows")[0] if "kept_rows" in request.fixturenames else make_admin()


@pytest.fixture
def common(request, owner):
    is_shared = "kept_rows" in request.fixturenames
    return request.getfixturevalue("kept_rows")[1] if is_shared else make_set("common", owners=[owner])
