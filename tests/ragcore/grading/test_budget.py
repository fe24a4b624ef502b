from dataclasses import dataclass, field

import pytest

from ragcore.grading.budget import Budget, Meter
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
    limits: list[object] = field(default_factory=list)


def test_rounds_seconds_tokens_and_cost_end_a_loop():
    clock = Clock()
    costs = [0.9]
    meter = Meter(Budget(rounds=2, seconds=10, tokens=100, cost=1.0), clock=clock, cost=lambda: costs[-1])

    assert meter.used_up() == ""
    costs.append(1.0)
    assert meter.used_up() == "cost"
    meter.spend(Usage(prompt_tokens=40, completion_tokens=10))
    meter.spend(Usage(prompt_tokens=50))
    assert meter.used_up() == "tokens"
    clock.now += 10
    assert meter.used_up() == "seconds"
    assert meter.remaining_seconds == 0
    meter.rounds = 2
    assert (meter.used_up(), meter.spent_up()) == ("rounds", "seconds")


def test_what_was_asked_before_the_loop_does_not_count_and_an_asker_given_twice_counts_once():
    asker = Asked(Usage(prompt_tokens=1000))
    meter = Meter(Budget(), (asker, asker, None))

    asker.usage += Usage(prompt_tokens=7, completion_tokens=3)

    assert meter.usage == Usage(prompt_tokens=7, completion_tokens=3)


@pytest.mark.parametrize("cost", [None, lambda: 1e9])
def test_a_cost_of_zero_is_no_limit(cost):
    meter = Meter(Budget(cost=0.0), cost=cost)
    meter.spend(Usage(prompt_tokens=5))

    assert meter.used_up() == ""


def test_within_a_loop_nothing_is_asked_beyond_its_limits_and_afterwards_as_before():
    asker = Asked()
    meter = Meter(Budget(tokens=100), (asker, asker))

    with meter.limiting():
        assert [allows() for allows in asker.limits] == [True]
        meter.spend(Usage(prompt_tokens=100))
        assert [allows() for allows in asker.limits] == [False]

    assert asker.limits == []


def test_there_is_room_beside_another_request_only_where_no_limit_can_be_passed_by_both():
    meter = Meter(Budget(tokens=1000))

    assert meter.has_room(999)
    assert not meter.has_room(1000)
    assert not Meter(Budget(tokens=1000, cost=0.1)).has_room(1)
