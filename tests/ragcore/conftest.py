"""Settings of hypothesis for the core's tests, and what tests of model clients share."""

import pytest
from hypothesis import settings

from tests.scripted_llm import serving

# The first example of a test may load a dictionary or a model; that is no reason to fail.
settings.register_profile("ragcore", deadline=None)
settings.load_profile("ragcore")


@pytest.fixture
def llm():
    with serving() as scripted:
        yield scripted


@pytest.fixture
def waits():
    """Collects the delays that a client would have slept."""
    return []
