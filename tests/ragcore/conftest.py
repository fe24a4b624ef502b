"""What tests of model clients share."""

import pytest

from tests.scripted_llm import serving


@pytest.fixture
def llm():
    with serving() as scripted:
        yield scripted


@pytest.fixture
def waits():
    """Collects the delays that a client would have slept."""
    return []
