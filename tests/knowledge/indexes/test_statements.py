"""Two searches at once: same results, errors told, never a wait for a second connection."""

from __future__ import annotations

import threading

import pytest
from django.db import OperationalError

from knowledge.indexes.statements import SLOTS, fetch, run_concurrently

pytestmark = pytest.mark.django_db(transaction=True)


def backend() -> int:
    return int(fetch("SELECT pg_backend_pid()", {})[0][0])


def test_each_search_has_a_connection_of_its_own() -> None:
    own = backend()  # open before: otherwise the caller may take the one that the other search has just given back

    first, second = run_concurrently(backend, backend, seconds=5)

    assert second == own
    assert first != own


def test_both_run_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=10)

    def meet() -> bool:
        meeting.wait()
        return True

    assert run_concurrently(meet, meet, seconds=5) == (True, True)


def test_without_a_free_slot_they_run_one_after_the_other_on_the_callers_connection() -> None:
    taken = 0
    while SLOTS.acquire(blocking=False):
        taken += 1
    try:
        first, second = run_concurrently(backend, backend, seconds=5)
    finally:
        for _ in range(taken):
            SLOTS.release()

    assert first == second == backend()


def test_the_limit_holds_for_the_search_on_the_other_connection() -> None:
    def slow() -> None:
        fetch("SELECT pg_sleep(30)", {})

    with pytest.raises(OperationalError):
        run_concurrently(slow, backend, seconds=0.2)


def test_an_error_of_either_is_raised_and_the_slot_is_free_again() -> None:
    backend()  # the caller's own connection is open

    def fail() -> None:
        raise ValueError("no")

    for pair in ((fail, backend), (backend, fail)):
        with pytest.raises(ValueError, match="no"):
            run_concurrently(*pair, seconds=5)

    assert len(set(run_concurrently(backend, backend, seconds=5))) == 2
