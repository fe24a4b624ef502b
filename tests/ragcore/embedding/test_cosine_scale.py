"""Cosines of two models on one scale."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embedding.cosine_scale import CosineScale, cosine_scale


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
