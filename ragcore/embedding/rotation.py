"""Rotations of vectors, and the shorter vectors that the coarse search compares.

An orthogonal rotation of 768 numbers changes no cosine of whole vectors. It decides how much of a vector its first 384
numbers hold. The principal directions of a corpus hold the most (Jolliffe 2002, Principal Component Analysis, ch. 3).
Only the first 384 columns are kept: a projection. Whole vectors stay as the model gave them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from ragcore.ports import FloatArray

PREFIX = 384  # numbers that the coarse search compares
# Projections that came with an embedder, oldest first. None is ever taken away: stored vectors were made with it.
PACKAGED: Mapping[str, tuple[str, ...]] = {"embedded-minilm-ngrams-1": ("embedded_rotation_1.npz",)}
STEPS = 3  # of Newton and Schulz: each squares the distance from orthogonal, which float16 leaves at 1e-3


def second_moment(vectors: FloatArray) -> npt.NDArray[np.float64]:
    """float64[d, d]: the mean of the outer products of float[n, d]; the mean is not taken away, as in a cosine."""
    rows = vectors.astype(np.float64)
    return np.asarray(rows.T @ rows / max(len(rows), 1))


def principal_directions(moment: npt.NDArray[np.float64]) -> FloatArray:
    """float32[d, d], orthogonal: eigenvectors in columns, those with the most of the vectors' length first.

    Signs are chosen so that the largest number of each is positive: the same moment gives the same rotation.
    """
    _values, directions = np.linalg.eigh(moment)
    directions = directions[:, ::-1]
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[largest, np.arange(directions.shape[1])])
    return np.asarray(directions * signs, dtype=np.float32)


def orthonormal(columns: npt.NDArray[np.floating]) -> FloatArray:
    """float32[d, k]: the nearest matrix with orthonormal columns (Higham 1986), for one that is nearly so."""
    near = columns.astype(np.float64)
    for _ in range(STEPS):
        near = near @ (1.5 * np.eye(near.shape[1]) - 0.5 * near.T @ near)
    return np.asarray(near, dtype=np.float32)


def projection_pack(rotation: FloatArray) -> bytes:
    """The first 384 columns as float16, row by row: 590 kB."""
    return rotation[:, :PREFIX].astype("<f2").tobytes()


def packaged_number(model: str) -> int:
    """The number of the projection that new vectors of a model are searched with: −n for the n-th one, 0 for none."""
    return -len(PACKAGED.get(model, ()))


@cache
def packaged_projection(model: str, number: int) -> FloatArray:
    """float32[768, 384]: the `number`-th projection that came with an embedder, counted from 1."""
    with files(__package__).joinpath(PACKAGED[model][number - 1]).open("rb") as stream:
        return orthonormal(np.load(stream)["projection"])


def project(vectors: FloatArray, projection: FloatArray | None) -> FloatArray:
    """float32[n, 384]: the shorter vectors; without a projection the first 384 numbers.

    Summed in 64 bits: in 32 a row would depend in its last bits on how many others are projected with it.
    """
    if projection is None:
        return vectors[:, :PREFIX]
    return np.asarray(vectors.astype(np.float64) @ projection.astype(np.float64), dtype=np.float32)
