"""What every embedder owes the index: 768 numbers, L2-normalised, of which 384 are a usable prefix."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ragcore.errors import EmbedderRefusedError

FloatArray = npt.NDArray[np.float32]

DIMENSIONS = 768


def matryoshka(vectors: npt.ArrayLike, *, model: str) -> FloatArray:
    """float32[n, 768], L2-normalised, from float[n, d] with d >= 768.

    Raises EmbedderRefusedError if d is smaller, or if the 768 numbers of a text are all zero or not finite.
    """
    rows = np.asarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] < DIMENSIONS:
        found = rows.shape[1] if rows.ndim == 2 else 0
        raise EmbedderRefusedError("dimensions", model=model, dimensions=found, needed=DIMENSIONS)
    rows = rows[:, :DIMENSIONS]
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.all(np.isfinite(norms)) or np.any(norms == 0):
        raise EmbedderRefusedError("vectors", model=model)
    return np.asarray(rows / norms, dtype=np.float32)
