"""Weights near to given ones: they move as far as held-out lists say, and not at all where there is nothing to gain."""

from __future__ import annotations

import numpy as np
import pytest

from ragcore.errors import WeightsRefusedError
from ragcore.reranking.linear import FEATURES, LinearReranker
from ragcore.text.question_pairs import folds_of
from ragcore.training.reranker_fitting import CrossFitting, RankedList, weights_cross_fit, weights_fit

WIDTH = 4
GIVEN = np.array([2.0, 0.0, 0.0, 0.0], np.float32)  # trusts the first feature


def world(lists: int, *, decisive: int, seed: int = 1) -> list[RankedList]:
    """Lists of ten candidates; the right one is the one with the highest value of a feature."""
    made = np.random.default_rng(seed)
    found = []
    for _ in range(lists):
        inputs = made.random((10, WIDTH)).astype(np.float32)
        relevant = np.zeros(10, dtype=bool)
        relevant[int(inputs[:, decisive].argmax())] = True
        found.append(RankedList("", inputs, relevant, 1))
    return found


def folds(lists: list[RankedList]) -> np.ndarray:
    return folds_of([[n] for n in range(len(lists))], folds=4)


def test_where_the_given_weights_are_wrong_others_are_found_and_held_out_lists_show_it() -> None:
    lists = world(60, decisive=2)

    found = weights_cross_fit(lists, folds(lists), GIVEN)

    assert found.step > 0
    assert found.after.mean() > found.before.mean() + 0.2
    assert int(np.argmax(found.weights)) == 2
    assert (len(found.curve), len(found.before)) == (7, 60)
    assert found.curve[0] == pytest.approx(found.before.mean())


def test_where_the_given_weights_are_right_nothing_moves() -> None:
    lists = world(60, decisive=0)

    found = weights_cross_fit(lists, folds(lists), GIVEN)

    assert found.step == 0
    assert found.weights is GIVEN
    assert found.after.tolist() == found.before.tolist()


def test_fits_that_go_on_from_any_place_end_with_the_same_result() -> None:
    lists = world(40, decisive=2)
    whole = weights_cross_fit(lists, folds(lists), GIVEN)
    for broken_off in (0, 1, 7, 23, 24):
        fitting = CrossFitting(lists, folds(lists), GIVEN)
        for _ in range(broken_off):
            fitting.advance()
        again = CrossFitting(lists, folds(lists), GIVEN, table=fitting.table.copy(), place=fitting.place)
        while not again.is_over:
            again.advance()
        again.advance()

        found = again.result()

        assert (again.place, again.total, found.step, found.curve) == (24, 24, whole.step, whole.curve)
        assert np.array_equal(found.weights, whole.weights)
        assert np.array_equal(found.after, whole.after)


def test_few_lists_move_the_weights_less_than_many() -> None:
    moved = [
        float(np.abs(weights_fit(some, near=GIVEN, penalty=10 / (2 * len(some))) - GIVEN).sum())
        for some in (world(3, decisive=2), world(300, decisive=2))
    ]
    assert moved[0] < moved[1] / 3


def test_a_question_about_documents_of_several_folds_judges_nothing() -> None:
    lists = world(40, decisive=2)
    touches = folds(lists)
    touches[0] = True

    found = weights_cross_fit(lists, touches, GIVEN)

    assert len(found.before) == 39


def test_weights_of_other_features_are_refused() -> None:
    right = [0.5] * 2 * len(FEATURES)
    fitted = LinearReranker.fitted(right, FEATURES, number=3)
    assert (fitted.name, fitted.cliff) == ("linear, fitted 3", LinearReranker.shipped().cliff)
    for weights, features in ((right, ("other", *FEATURES[1:])), (right[:-1], FEATURES), ([float("nan")], FEATURES)):
        with pytest.raises(WeightsRefusedError):
            LinearReranker.fitted(weights, features, number=3)
