"""Shorter vectors of models that are Matryoshka and of those that are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.embedding.shortening import (
    Shortening,
    cosine_floor,
    neighbours_kept,
    prefix_verify,
    projection_fit,
)
from ragcore.errors import EmbedderRefusedError
from tests.forms_plugin import examples


def sample(dimensions: int, *, used: slice, count: int = 400, seed: int = 0) -> np.ndarray:
    """float32[n, d] in which only some numbers tell texts apart."""
    random = np.random.default_rng(seed)
    rows = np.full((count, dimensions), 1e-3, np.float32)
    rows[:, used] = random.normal(size=(count, len(range(*used.indices(dimensions)))))
    return rows


def test_a_matryoshka_prefix_is_verified():
    rows = sample(1024, used=slice(0, 200))

    found = prefix_verify(rows, model="m")

    assert (found.kind, found.dimensions) == ("prefix", 1024)
    assert found.kept_whole == found.kept_prefix == 1.0
    assert found.apply(rows, model="m").shape == (400, 768)


@pytest.mark.parametrize(
    "used",
    [slice(0, 1024, 4), *(pytest.param(some, marks=pytest.mark.full) for some in (slice(800, 1000), slice(300, 500)))],
)
def test_a_prefix_that_loses_neighbours_is_not_taken_and_a_projection_keeps_them(used):
    rows = sample(1024, used=used)

    assert prefix_verify(rows, model="m") is None
    fitted = projection_fit(rows, model="m")

    short = fitted.apply(rows, model="m")
    assert fitted.kind == "projection"
    assert min(fitted.kept_whole, fitted.kept_prefix) > 0.98
    assert neighbours_kept(rows, short[:, :384], depth=20) > 0.98


def test_of_768_numbers_a_rotation_changes_no_cosine():
    rows = sample(768, used=slice(500, 700))

    fitted = projection_fit(rows, model="m")

    short, unit = fitted.apply(rows, model="m"), rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(short @ short.T, unit @ unit.T, atol=2e-3)
    stored = Shortening(dimensions=768, packed=fitted.packed)
    assert np.array_equal(stored.apply(rows, model="m"), short)


@pytest.mark.parametrize(("dimensions", "used"), [(64, slice(0, 64)), (384, slice(100, 384)), (512, slice(0, 300))])
def test_zeros_follow_the_numbers_of_a_smaller_model(dimensions, used):
    rows = sample(dimensions, used=used)

    found = prefix_verify(rows, model="m")

    short, unit = found.apply(rows, model="m"), rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert (found.kind, found.dimensions, found.kept_whole) == ("prefix", dimensions, 1.0)
    assert short.shape == (400, 768)
    np.testing.assert_allclose(short @ short.T, unit @ unit.T, atol=1e-5)


def test_the_first_numbers_of_a_model_of_512_are_turned_where_they_do_not_serve():
    rows = sample(512, used=slice(400, 512))

    assert prefix_verify(rows, model="m") is None
    fitted = projection_fit(rows, model="m")

    short, unit = fitted.apply(rows, model="m"), rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(short @ short.T, unit @ unit.T, atol=2e-3)
    assert neighbours_kept(rows, short[:, :384], depth=20) > 0.98
    stored = Shortening(dimensions=512, packed=fitted.packed)
    assert np.array_equal(stored.apply(rows, model="m"), short)


@pytest.mark.full
def test_vectors_that_fill_more_than_768_directions_evenly_are_refused():
    rows = np.random.default_rng(3).normal(size=(300, 1536)).astype(np.float32)

    with pytest.raises(EmbedderRefusedError, match="cannot be shortened"):
        projection_fit(rows, model="m")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (np.ones((100, 32)), "32 dimensions"),
        (np.ones((100, 1024)), "the same vector"),
        (np.zeros((100, 768)), "zero or not finite"),
        (np.full((100, 768), np.nan), "zero or not finite"),
    ],
)
def test_what_is_no_model_is_refused(rows, said):
    for fit in (prefix_verify, projection_fit):
        with pytest.raises(EmbedderRefusedError, match=said):
            fit(rows.astype(np.float32), model="m")


def test_another_width_than_that_of_stored_vectors_is_refused():
    with pytest.raises(EmbedderRefusedError, match="1024 dimensions; its stored vectors have 768"):
        Shortening(dimensions=768).apply(np.ones((1, 1024)), model="m")


@pytest.mark.parametrize("level", [0.0, 0.5, 0.8])
def test_the_floor_follows_the_level_of_unrelated_texts(level):
    """Vectors with a shared direction: every cosine is near to `level`, with a spread of (1 - level) / sqrt(768)."""
    random = np.random.default_rng(4)
    own = random.normal(size=(300, 767)).astype(np.float32)
    own *= np.sqrt(1 - level) / np.linalg.norm(own, axis=1, keepdims=True)
    rows = np.hstack([np.full((300, 1), np.sqrt(level), np.float32), own])

    floor = cosine_floor(rows)

    assert floor == pytest.approx(max(level + 3.28 * (1 - level) / np.sqrt(767), 0.05), abs=0.01)


@settings(max_examples=examples(2), deadline=None)
@given(seed=st.integers(0, 10_000), scale=st.floats(0.01, 100))
def test_lengths_of_vectors_do_not_matter(seed, scale):
    rows = sample(800, used=slice(700, 780), count=80, seed=seed)
    fitted = projection_fit(rows, model="m")

    np.testing.assert_allclose(fitted.apply(rows * scale, model="m"), fitted.apply(rows, model="m"), atol=1e-4)
