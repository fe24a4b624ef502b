"""Rotations change no cosine of whole vectors; the packaged one is orthogonal and what it says it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.embedding.minilm import EmbeddedEmbedder
from ragcore.embedding.rotation import (
    PACKAGED,
    PREFIX,
    orthonormal,
    packaged_number,
    packaged_projection,
    principal_directions,
    project,
    projection_pack,
    second_moment,
)


def random_rows(count, columns=768, seed=0):
    rows = np.random.default_rng(seed).standard_normal((count, columns)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def off_identity(columns):
    gram = columns.astype(np.float64).T @ columns.astype(np.float64)
    return np.abs(gram - np.eye(columns.shape[1])).max()


@pytest.mark.parametrize("number", range(1, 1 + len(PACKAGED[EmbeddedEmbedder.model])))
def test_every_packaged_projection_has_orthonormal_columns(number):
    projection = packaged_projection(EmbeddedEmbedder.model, number)

    assert projection.shape == (EmbeddedEmbedder.dimensions, PREFIX)
    assert projection.dtype == np.float32
    assert off_identity(projection) < 1e-6


def test_numbers_count_the_packaged_projections_and_other_models_have_none():
    assert packaged_number(EmbeddedEmbedder.model) == -len(PACKAGED[EmbeddedEmbedder.model])
    assert packaged_number("another/model") == 0


@given(seed=st.integers(0, 2**32 - 1), columns=st.integers(2, 40), count=st.integers(1, 60))
def test_principal_directions_are_orthogonal_and_keep_all_cosines(seed, columns, count):
    rows = random_rows(count, columns, seed)

    rotation = principal_directions(second_moment(rows))

    assert off_identity(rotation) < 1e-5
    turned = rows @ rotation
    assert turned @ turned.T == pytest.approx(rows @ rows.T, abs=1e-5)
    lengths = np.linalg.norm(turned, axis=0)
    assert np.all(lengths[:-1] >= lengths[1:] - 1e-4)  # the first numbers hold the most


def test_the_same_vectors_give_the_same_rotation():
    rows = random_rows(50, 20)

    assert np.array_equal(principal_directions(second_moment(rows)), principal_directions(second_moment(rows.copy())))


def test_a_projection_survives_being_packed():
    columns = np.linalg.qr(random_rows(768, PREFIX).astype(np.float64))[0]

    packed = projection_pack(columns)
    unpacked = orthonormal(np.frombuffer(packed, "<f2").reshape(-1, PREFIX))

    assert len(packed) == 2 * 768 * PREFIX
    assert off_identity(unpacked) < 1e-6
    assert unpacked == pytest.approx(columns, abs=2e-4)


def test_a_fitted_projection_finds_more_of_the_nearest_than_the_prefix():
    """Vectors that lie near some directions, none of them along the axes."""
    random = np.random.default_rng(5)
    spread = random.standard_normal((64, 64)) / (1 + np.arange(64))[:, None] ** 0.5
    rows = (random.standard_normal((1600, 64)) @ spread).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    corpus, questions = rows[:1500], rows[1500:]
    fitted = principal_directions(second_moment(corpus[::10]))[:, :32]

    def recall(projection):
        short, asked = project(corpus, projection), project(questions, projection)
        short = short / np.linalg.norm(short, axis=1, keepdims=True)
        near = np.argsort(-(asked @ short.T), axis=1)[:, :30]
        exact = np.argsort(-(questions @ corpus.T), axis=1)[:, :20]
        return np.mean([len(set(a) & set(b)) / 20 for a, b in zip(near, exact, strict=True)])

    assert recall(fitted) > recall(np.eye(64, 32, dtype=np.float32)) + 0.1
    assert recall(fitted) > 0.9


def test_a_vector_is_shortened_alike_alone_and_among_others():
    random = np.random.default_rng(4)
    vectors = random.normal(size=(67, 768)).astype(np.float32)
    projection = random.normal(size=(768, 384)).astype(np.float32)

    together = project(vectors, projection)

    assert all(
        np.array_equal(project(vector[None], projection)[0], row) for vector, row in zip(vectors, together, strict=True)
    )
