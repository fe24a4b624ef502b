"""Bounds that hold at every look."""

from __future__ import annotations

import numpy as np
import pytest

from ragcore.metrics.sequential import ArmComparison, ArmFigures, half_width
from tests.forms_plugin import is_full

CHANCES, DIFFERENCES = (200, 50) if is_full() else (60, 20)  # experiments that are drawn


def figures(values):
    return ArmFigures(people=[(1, float(value)) for value in values])


def looked_at(live, candidate, *, alpha=0.05, every=25):
    """The verdicts of somebody who looks after every few people."""
    for count in range(every, len(live) + 1, every):
        yield ArmComparison(live=figures(live[:count]), candidate=figures(candidate[:count]), alpha=alpha).verdict


@pytest.mark.full
def test_looking_all_the_time_seldom_finds_a_difference_that_is_not_there():
    random = np.random.default_rng(3)
    wrong = 0
    for _ in range(CHANCES):
        live, candidate = random.random(800) < 0.6, random.random(800) < 0.6
        wrong += any(verdict in ("better", "worse") for verdict in looked_at(live, candidate))

    assert wrong / CHANCES <= 0.05


def test_a_difference_that_is_there_is_found():
    random = np.random.default_rng(4)
    found = 0
    for _ in range(DIFFERENCES):
        live, candidate = random.random(1000) < 0.55, random.random(1000) < 0.75
        found += "better" in list(looked_at(live, candidate))

    assert found / DIFFERENCES >= 0.95


def test_one_person_who_asks_a_lot_does_not_decide():
    many = ArmFigures(people=[(1, 0.0)] * 12 + [(500, 500.0)])
    few = ArmFigures(people=[(1, 0.5)] * 30)

    assert many.mean == pytest.approx(1 / 13)
    assert ArmComparison(live=few, candidate=many, alpha=0.05).verdict == "worse"


def test_before_enough_people_have_asked_nothing_is_said():
    comparison = ArmComparison(live=figures([0] * 9), candidate=figures([1] * 9), alpha=0.05)

    assert (comparison.bounds, comparison.verdict) == (None, "too_few")
    assert ArmComparison(live=figures([]), candidate=figures([1]), alpha=0.05).difference is None


def test_the_bounds_are_those_of_the_paper_and_shrink_with_the_variance():
    assert half_width(0.0004, alpha=0.05) == pytest.approx(0.0619, abs=5e-4)
    assert half_width(0.0001, alpha=0.05) < half_width(0.0004, alpha=0.05) < half_width(0.0004, alpha=0.01)
