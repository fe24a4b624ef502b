"""Paired differences: intervals, p-values, their correction, wins and losses."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.metrics import comparison
from ragcore.metrics.comparison import compare, holm, least_differing, paired_difference, permutation_p
from tests.forms_plugin import examples


def test_equal_values_have_no_difference():
    one = paired_difference([0.2, 0.8], [0.2, 0.8])

    assert (one.difference, one.low, one.high, one.p, one.ties) == (0.0, 0.0, 0.0, 1.0, 2)


def test_a_clear_loss_is_significant_and_counted():
    one = paired_difference([1.0] * 20, [0.0] * 15 + [1.0] * 5)

    assert one.difference == -0.75
    assert one.low < -0.75 < one.high < 0
    assert one.p < 0.001
    assert (one.higher, one.lower, one.ties) == (0, 15, 5)


@pytest.mark.parametrize(("cases", "is_significant"), [(1, False), (5, False), (6, True)])
def test_fewer_than_six_differing_cases_are_never_significant(cases, is_significant):
    assert paired_difference([1.0] * cases, [0.0] * cases).is_significant is is_significant


def test_the_p_value_is_the_share_of_all_exchanges_that_differ_as_much():
    changes = [0.5, -0.25, 1.0, 0.125, 0.0]
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, changes, strict=True)))
        for signs in product((1, -1), repeat=5)
    ]
    expected = sum(one >= abs(sum(changes)) - 1e-9 for one in sums) / len(sums)

    assert paired_difference([0.0] * 5, changes).p == pytest.approx(expected)


def test_drawn_permutations_agree_with_all_of_them(monkeypatch):
    changes = np.random.default_rng(5).normal(0.3, 1.0, 13)
    exact = comparison.permutation_p(changes)
    monkeypatch.setattr(comparison, "EXACT", 0)

    assert comparison.permutation_p(changes) == pytest.approx(exact, abs=0.01)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30))
def test_the_p_value_does_not_depend_on_which_one_is_first(pairs):
    first, second = zip(*pairs, strict=True)

    there, back = paired_difference(first, second).p, paired_difference(second, first).p
    assert there == pytest.approx(back, abs=1e-12)
    assert 0 < there <= 1


def test_pairing_finds_what_the_spread_of_the_cases_hides():
    random = np.random.default_rng(1)
    first = random.uniform(0, 1, 60)
    second = np.clip(first + 0.02 + random.normal(0, 0.01, 60), 0, 1)

    assert paired_difference(list(first), list(second)).is_significant


def test_chance_alone_is_seldom_significant():
    random = np.random.default_rng(2)
    found = [
        paired_difference(list(random.normal(0, 1, 40)), list(random.normal(0, 1, 40))).p < 0.05 for _ in range(60)
    ]

    assert sum(found) <= 9  # 3 are expected


def test_holm_corrects_for_the_number_of_metrics():
    corrected = holm({"a": 0.01, "b": 0.04, "c": 0.03})

    assert corrected == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})


@settings(max_examples=examples(25), deadline=None)
@given(st.dictionaries(st.text(max_size=3), st.floats(0, 1), max_size=8))
def test_corrected_values_keep_their_order_and_are_never_smaller(values):
    corrected = holm(values)

    assert all(values[name] <= corrected[name] <= 1 for name in values)
    order = sorted(values, key=values.__getitem__)
    assert [corrected[name] for name in order] == sorted(corrected.values())


def test_metrics_of_one_side_only_are_left_out():
    assert list(compare({"a": [1.0], "b": [1.0]}, {"b": [0.0], "c": [1.0]})) == ["b"]


def test_lists_that_are_no_pairs_are_refused():
    with pytest.raises(ValueError, match="paired"):
        paired_difference([1.0], [])


@pytest.mark.parametrize("metrics", [1, 2, 3, 5])
def test_fewer_differing_cases_than_the_minimum_are_never_significant_and_so_many_can_be(metrics):
    least = least_differing(metrics)

    assert permutation_p(np.full(least - 1, -1.0)) * metrics >= 0.05
    assert permutation_p(np.full(least, -1.0)) * metrics < 0.05


def test_the_minimum_is_six_cases_and_seven_for_three_metrics():
    assert [least_differing(n) for n in (1, 2, 3)] == [6, 7, 7]
