"""Messages of background work stay here, and the counting kind is known for one test."""

from __future__ import annotations

import pytest

from tests.work.counting import Counting
from work import kinds, queue


@pytest.fixture(autouse=True)
def sent(monkeypatch):
    """(name, arguments, options) of what would go to the broker."""
    messages = []
    monkeypatch.setitem(kinds.KINDS.by_name, Counting.name, Counting())
    monkeypatch.setattr(queue, "send", lambda name, kwargs, options: messages.append((name, kwargs, options)))
    yield messages
    Counting.meanwhile.clear()
