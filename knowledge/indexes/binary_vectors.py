"""Vectors in the binary form of pgvector, as `halfvec_send` and `sparsevec_send` give them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragcore.ports import FloatArray


def halfvec_read(data: bytes) -> FloatArray:
    """int16 dimensions, int16 unused, then big-endian float16."""
    return np.frombuffer(data, dtype=">f2", offset=4).astype(np.float32)


def halfvecs_read(packed: Sequence[bytes]) -> FloatArray:
    """float32[n, d] of halfvecs of one length; float32[0] of none."""
    return np.array([np.frombuffer(halfvec, ">f2", offset=4) for halfvec in packed], dtype=np.float32)


def sparsevec_read(data: bytes) -> dict[int, float]:
    """int32 dimensions, count and unused, then the indices from 0, then big-endian float32. Term ids count from 1."""
    count = int.from_bytes(data[4:8], "big")
    indices = np.frombuffer(data, dtype=">i4", offset=12, count=count)
    values = np.frombuffer(data, dtype=">f4", offset=12 + 4 * count, count=count)
    return dict(zip((indices.astype(np.int64) + 1).tolist(), values.tolist(), strict=True))
