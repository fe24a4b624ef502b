"""The scale of a set's model, where the site's model reads the texts of the set and where it does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embedding.cosine_scale import cosine_scale
from ragcore.embedding.set_scale import (
    REFERENCE,
    REFERENCE_FLOOR,
    OpenScale,
    SiteCosines,
    reads,
    set_scale,
)

OWN = np.array([[0.8, 0.4], [0.82, 0.42], [0.78, 0.38]])


def site(near, far, unrelated=0.05, **values):
    return SiteCosines(near_far=np.full((3, 2), (near, far)), unrelated=unrelated, **values)


def test_where_the_site_reads_the_texts_its_medians_hold():
    told = site(0.5, 0.3)
    scale = set_scale(told, OWN)

    assert (scale.offset, scale.slope) == pytest.approx(
        (cosine_scale(told.near_far, OWN).offset, cosine_scale(told.near_far, OWN).slope)
    )
    assert set_scale(told, np.zeros((0, 2))) == OpenScale()


@pytest.mark.parametrize(
    "told",
    [
        site(0.97, 0.97, 0.97),  # all the same
        site(0.97, 0.95),  # its slope would be at the least
        site(0.6, 0.4, 0.35),  # texts that have nothing in common are above its floor
    ],
    ids=["same", "narrow", "high"],
)
def test_where_it_does_not_the_reference_takes_their_place(told):
    scale = set_scale(told, OWN)

    assert not reads(told, spread=0.4)
    assert scale(0.4) == pytest.approx(REFERENCE[1], abs=0.01)
    assert scale(0.8) >= REFERENCE[0] - 0.01
    assert scale(0.1) < REFERENCE_FLOOR  # so that something can be refused


def test_the_reference_lies_above_the_floor_of_the_sites_model():
    scale = set_scale(site(0.9, 0.9, 0.9, floor=0.8), np.array([[0.8, 0.7]]))

    assert 0.8 < scale(0.7) < scale(0.8) < 0.85


def test_passages_that_repeat_each_other_are_as_near_as_a_sentence_to_its_own():
    scale = set_scale(site(0.9, 0.9, 0.9), np.full((3, 2), 0.7))

    assert scale(0.7) == pytest.approx(REFERENCE[0])


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(-0.5, 1.5), st.floats(0.25, 4))
def test_no_order_is_lost_and_nothing_reaches_one(first, second, offset, slope):
    scale = OpenScale(offset, slope)

    assert max(scale(first), scale(second)) < 1
    if abs(first - second) > 1e-6:
        assert (first < second) == (scale(first) < scale(second))
    if offset + slope * first <= 0.9:
        assert scale(first) == offset + slope * first
