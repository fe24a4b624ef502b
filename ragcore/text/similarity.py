"""Small similarity measures for lists that fit in memory."""

from __future__ import annotations

from collections.abc import Set

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float32]


def cosine(a: FloatArray, b: FloatArray) -> float:
    """Cosine of two vectors, -1 to 1; 0 if one of them is zero."""
    norm = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    return float(np.dot(a, b)) / norm if norm else 0.0


def cosine_matrix(a: FloatArray, b: FloatArray) -> FloatArray:
    """float32[n, m]: cosine of each row of a with each row of b; zero rows give 0."""
    return np.asarray(normalised(a) @ normalised(b).T, dtype=np.float32)


def normalised(rows: FloatArray) -> FloatArray:
    """Rows of length 1; zero rows stay zero."""
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(norms == 0, 1, norms), dtype=np.float32)


def jaccard(a: Set[str], b: Set[str]) -> float:
    """Shared members over all members, 0 to 1; 0 for two empty sets."""
    union = len(a | b)
    return len(a & b) / union if union else 0.0
