"""Intervals of means over questions."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.metrics.bootstrap import mean_interval, paired_interval, set_mean_difference, set_mean_interval
from ragcore.metrics.quality import ndcg_at_k
from tests.forms_plugin import examples

laws = settings(max_examples=examples(25), deadline=None)
scores = st.lists(st.floats(0, 1, allow_nan=False, width=32), min_size=1, max_size=60)


@laws
@given(scores)
def test_an_interval_holds_its_mean_and_stays_within_the_values(values):
    found = mean_interval(values)

    assert found.value == pytest.approx(np.mean(values))
    assert found.low <= found.value <= found.high
    assert min(values) - 1e-9 <= found.low
    assert found.high <= max(values) + 1e-9


@laws
@given(scores)
def test_a_system_against_itself_is_exactly_nothing(values):
    found = paired_interval(values, values)

    assert (found.value, found.low, found.high) == (0, 0, 0)


@laws
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40))
def test_exchanging_two_systems_changes_only_the_sign(pairs):
    ours, theirs = zip(*pairs, strict=True)

    there, back = paired_interval(ours, theirs), paired_interval(theirs, ours)

    assert there.value == pytest.approx(-back.value, abs=1e-12)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-9)


@laws
@given(scores)
def test_the_same_values_give_the_same_interval(values):
    assert mean_interval(values) == mean_interval(np.asarray(values))


@laws
@given(st.integers(0, 2**32 - 1))
def test_a_perfect_ranking_wins_over_a_shuffled_one(seed):
    shuffled = random.Random(seed)
    perfect, other = [], []
    for _ in range(60):
        ranked = list(range(10))
        perfect.append(ndcg_at_k(ranked, {0, 1}, 10))
        shuffled.shuffle(ranked)
        other.append(ndcg_at_k(ranked, {0, 1}, 10))

    assert paired_interval(perfect, other).low > 0
    assert paired_interval(other, perfect).high < 0


def test_more_questions_make_the_interval_narrower():
    few, many = mean_interval([0.0, 1.0] * 10), mean_interval([0.0, 1.0] * 1000)

    assert many.high - many.low < (few.high - few.low) / 5


def test_the_width_is_that_of_the_normal_approximation_for_many_questions():
    values = np.random.default_rng(1).random(500)
    expected = 1.96 * values.std() / np.sqrt(len(values))

    found = mean_interval(values)

    assert found.high - found.value == pytest.approx(expected, rel=0.08)
    assert found.value - found.low == pytest.approx(expected, rel=0.08)


def test_every_set_weighs_the_same_however_many_questions_it_has():
    found = set_mean_interval([[1.0] * 1000, [0.0]])

    assert (found.value, found.low, found.high) == (0.5, 0.5, 0.5)


def test_differences_over_sets_are_paired_within_each_set():
    hard_and_easy = [[0.1, 0.9, 0.2, 0.8], [0.5, 0.4]]
    better = [[value + 0.05 for value in values] for values in hard_and_easy]

    found = set_mean_difference(list(zip(better, hard_and_easy, strict=True)))

    assert (found.value, found.low, found.high) == pytest.approx((0.05, 0.05, 0.05))


def test_nothing_can_be_said_without_values_or_about_other_questions():
    with pytest.raises(ValueError, match="no values"):
        mean_interval([])
    with pytest.raises(ValueError, match="not the same questions"):
        paired_interval([0.5], [0.5, 0.6])


def test_an_interval_is_written_with_three_digits_and_signs_where_wanted():
    found = paired_interval([0.5, 0.75], [0.25, 0.5])

    assert found.text() == "0.250 (0.250 to 0.250)"
    assert found.text(signed=True) == "+0.250 (+0.250 to +0.250)"
