from dataclasses import dataclass, field

import pytest

from ragcore.judging.budget import Budget, Meter
from ragcore.types import Usage


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Asked:
    """As much of an asker as is counted."""

    usage: Usage = field(default_factory=Usage)


def test_rounds_seconds_tokens_and_cost_end_a_loop():
    clock = Clock()
    meter = Meter(Budget(rounds=2, seconds=10, tokens=100, cost=1.0), clock=clock, price=lambda u: u.total_tokens / 50)

    assert meter.used_up() == ""
    meter.spend(Usage(prompt_tokens=40, completion_tokens=10))
    assert meter.used_up() == "cost"
    meter.spend(Usage(prompt_tokens=50))
    assert meter.used_up() == "tokens"
    clock.now += 10
    assert meter.used_up() == "seconds"
    assert meter.remaining_seconds == 0
    meter.rounds = 2
    assert meter.used_up() == "rounds"


def test_what_was_asked_before_the_loop_does_not_count_and_an_asker_given_twice_counts_once():
    asker = Asked(Usage(prompt_tokens=1000))
    meter = Meter(Budget(), (asker, asker, None))

    asker.usage += Usage(prompt_tokens=7, completion_tokens=3)

    assert meter.usage == Usage(prompt_tokens=7, completion_tokens=3)


@pytest.mark.parametrize("price", [None, lambda usage: 1e9])
def test_a_cost_of_zero_is_no_limit(price):
    meter = Meter(Budget(cost=0.0), price=price)
    meter.spend(Usage(prompt_tokens=5))

    assert meter.used_up() == ""
