"""Latent semantic analysis: folding, what it holds, and joined vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.embedding.latent import (
    LATENT,
    CosineScale,
    LatentTerms,
    SparseRows,
    cosine_scale,
    joined,
    latent_fit,
    question_folded,
    question_weight,
    rarest_of,
)

ROWS = [{1: 2.0, 2: 1.0, 9: 0.5}, {1: 1.0, 2: 2.0}, {3: 1.5, 4: 1.5, 9: 0.5}, {3: 1.0, 4: 2.0}, {5: 1.0, 9: 1.0}]
rows_of_weights = st.lists(
    st.dictionaries(st.integers(1, 40), st.floats(0.125, 2.0, width=32), min_size=1, max_size=12),
    min_size=2,
    max_size=25,
)


def cosines(vectors):
    return vectors @ vectors.T


def test_terms_that_stand_together_come_near_to_each_other():
    terms = latent_fit(SparseRows.of(ROWS), dimensions=3)
    near = cosines(terms.fold(SparseRows.of([{1: 1.0}, {2: 1.0}, {3: 1.0}, {4: 1.0}])))

    assert near[0, 1] > 0.9
    assert near[2, 3] > 0.9
    assert near[0, 2] < 0.2


@settings(deadline=None, max_examples=30)
@given(rows_of_weights)
def test_with_all_dimensions_cosines_are_those_of_the_weights(rows):
    given_rows = SparseRows.of(rows)
    terms = latent_fit(given_rows, dimensions=64)
    rarity = dict(zip(terms.ids.tolist(), terms.rarity.tolist(), strict=True))
    dense = np.zeros((len(rows), 41))
    for place, row in enumerate(rows):
        for term, weight in row.items():
            dense[place, term] = weight * rarity[term]
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)

    assert cosines(terms.fold(given_rows)) == pytest.approx(cosines(dense), abs=1e-3)
    assert terms.captured(given_rows, rarest=rarest_of(len(rows))) == pytest.approx(1.0, abs=1e-3)


@settings(deadline=None, max_examples=30)
@given(rows_of_weights)
def test_the_same_passages_give_the_same_numbers(rows):
    first, second = (latent_fit(SparseRows.of(rows), dimensions=8) for _ in range(2))

    assert np.array_equal(first.rows, second.rows)
    assert np.array_equal(first.ids, second.ids)


def test_passages_about_other_things_are_held_less():
    terms = latent_fit(SparseRows.of(ROWS), dimensions=LATENT)

    same = terms.captured(SparseRows.of(ROWS), rarest=rarest_of(5))
    other = terms.captured(SparseRows.of([{1: 1.0, 70: 2.0}, {71: 1.0, 72: 2.0}]), rarest=rarest_of(5))

    assert other < 0.5 * same
    assert terms.captured(SparseRows.of([]), rarest=1.0) == 0.0


def test_nothing_known_is_no_direction():
    terms = latent_fit(SparseRows.of(ROWS), dimensions=3)
    nothing = LatentTerms(np.zeros(0, np.int64), np.zeros((0, 3), np.float32), np.zeros(0, np.float32))

    assert not terms.fold(SparseRows.of([{99: 1.0}, {}])).any()
    assert nothing.fold(SparseRows.of(ROWS)).shape == (5, 3)


def test_how_much_of_a_question_is_known_is_told_apart_from_its_direction():
    numbers = np.eye(LATENT, dtype=np.float32)[0]
    known = {"beam": (2.0 * numbers, 2.0)}
    own, half, none = (question_folded(one, known, rarest=4.0) for one in (["beam"], ["beam", "cake"], ["cake"]))

    assert np.array_equal(own.numbers, numbers)
    assert np.array_equal(half.numbers, numbers)
    assert (own.known, half.known, none.known) == (1.0, pytest.approx(2 / 20**0.5), 0.0)
    assert not none.numbers.any()
    assert not question_folded([], known, rarest=4.0).numbers.any()


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0.01, 1))
def test_a_question_counts_for_more_the_more_of_it_is_known(less, more, usual):
    less, more = sorted((less, more))

    assert 0.5 <= question_weight(less, usual=usual) <= question_weight(more, usual=usual) <= 1.0


def test_the_joined_cosine_is_the_weighted_mean():
    random = np.random.default_rng(3)
    prefixes = random.standard_normal((4, 384)).astype(np.float32)
    latent = random.standard_normal((4, LATENT)).astype(np.float32)
    latent /= np.linalg.norm(latent, axis=1, keepdims=True)
    own = prefixes / np.linalg.norm(prefixes, axis=1, keepdims=True)

    whole = joined(prefixes, latent, share=0.3)

    assert whole.shape == (4, 768)
    assert cosines(whole) == pytest.approx(0.7 * cosines(own) + 0.3 * cosines(latent), abs=1e-5)


def test_the_scale_lays_near_and_far_on_each_other():
    own = np.array([[0.8, 0.4], [0.9, 0.5], [0.7, 0.3]])
    other = np.array([[0.6, 0.5], [0.7, 0.5], [0.65, 0.5]])
    scale = cosine_scale(own, other)

    assert scale(0.65) == pytest.approx(0.8)
    assert scale(0.5) == pytest.approx(0.4)
    assert cosine_scale(np.zeros((0, 2)), np.zeros((0, 2))) == CosineScale()
    assert cosine_scale(own, np.full((3, 2), 0.5)).slope == 1.0


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(-0.5, 0.5), st.floats(0.25, 4))
def test_a_scale_never_changes_an_order(first, second, offset, slope):
    scale = CosineScale(offset, slope)

    assert not (first < second and scale(first) > scale(second))
