"""Delays against guessing, on a clock of our own."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.redis_connection import connection
from accounts.sign_in.throttle import (
    FREE_ADDRESS,
    FREE_NAME,
    MAX_NAME_SECONDS,
    Attempt,
    attempt_forgive,
    attempt_seconds,
)
from tests.forms_plugin import examples

START = 1_000_000.0


def attempt(address="203.0.113.1", name="mei", known_browser=None):
    return Attempt(name=name, address=address, known_browser=known_browser)


def test_delays_grow_by_name_wherever_attempts_come_from(redis_client):
    waits = [attempt_seconds(attempt(f"203.0.113.{n}"), now=START) for n in range(FREE_NAME)]
    first = attempt_seconds(attempt("198.51.100.1"), now=START)
    again = attempt_seconds(attempt("198.51.100.1"), now=START + first)
    later = attempt_seconds(attempt("198.51.100.2"), now=START + first)

    assert waits == [0] * FREE_NAME
    assert (first, again) == (1, 0)
    assert later == 2 * first


def test_one_address_waits_whatever_names_it_tries(redis_client):
    for n in range(FREE_ADDRESS):
        assert attempt_seconds(attempt(name=f"person{n}"), now=START) == 0

    assert attempt_seconds(attempt(name="another"), now=START) > 0
    assert attempt_seconds(attempt("2001:db8::1", name="another"), now=START) == 0


def test_a_customer_of_ipv6_is_one_address(redis_client):
    for n in range(FREE_ADDRESS):
        attempt_seconds(attempt(f"2001:db8::{n + 1}", name=f"person{n}"), now=START)

    assert attempt_seconds(attempt("2001:db8::ffff", name="another"), now=START) > 0


def test_attempts_that_have_to_wait_do_not_make_it_longer(redis_client):
    for _ in range(FREE_NAME):
        attempt_seconds(attempt(), now=START)
    waits = [attempt_seconds(attempt(), now=START) for _ in range(50)]

    assert set(waits) == {1}


def test_success_is_forgiven(redis_client):
    for _ in range(100):
        assert attempt_seconds(attempt(), now=START) == 0
        attempt_forgive(attempt())


def test_a_stolen_browser_cookie_does_not_help_to_guess(redis_client):
    waits = [attempt_seconds(attempt(known_browser="b"), now=START) for _ in range(FREE_NAME + 1)]

    assert waits[-1] > 0


@settings(max_examples=examples(8), deadline=None)
@given(
    attacks=st.lists(
        st.tuples(st.integers(1, 250), st.floats(0, 120), st.sampled_from(["mei", "MEI", "someone"])), max_size=80
    )
)
def test_nobody_can_be_locked_out_from_outside(attacks):
    """Whatever others do: her own browser never waits, and a new one comes in after MAX_NAME_SECONDS at most."""
    connection().flushdb()
    now = START
    for host, pause, name in attacks:
        now += pause
        attempt_seconds(attempt(f"203.0.113.{host}", name), now=now)

    assert attempt_seconds(attempt("192.0.2.7", known_browser="hers"), now=now) == 0
    wait = attempt_seconds(attempt("192.0.2.7"), now=now)
    assert wait <= MAX_NAME_SECONDS
    for second in range(0, wait, 7):  # attacks go on while she waits
        attempt_seconds(attempt(f"203.0.113.{second % 250 + 1}"), now=now + second)
    assert attempt_seconds(attempt("192.0.2.7"), now=now + MAX_NAME_SECONDS) == 0
