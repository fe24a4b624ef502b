"""Query adapters: a small trained change of a question's vector, so that documents keep theirs.

A low-rank residual with a shift, v' = v + (v A) B + s, made unit length again (768 → 32 → 768). Only questions pass
through it; so training it, comparing it and switching it on or back re-embeds nothing. That most of the gain of
fine-tuning comes from the question's side shows arXiv:2601.04646.

Cosines of an adapted question are mapped linearly onto the scale of the plain ones, fitted on the questions of the
training, because later stages know that scale: the reranker's features, the floor of relevance, fusion with other sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from zipfile import BadZipFile

import numpy as np

from ragcore.errors import AdapterRefusedError
from ragcore.ports import FloatArray

ARRAYS = ("down", "up", "shift", "scale")
MOST_RANK = 256


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class QueryAdapter:
    """`down`: float32[d, r]; `up`: float32[r, d]; `shift`: float32[d]. Cosine on the plain scale: slope · c + level."""

    down: FloatArray
    up: FloatArray
    shift: FloatArray
    slope: float = 1.0
    level: float = 0.0

    @property
    def dimensions(self) -> int:
        """Length of the vectors that it takes."""
        return int(self.shift.shape[0])

    def apply(self, vectors: FloatArray) -> FloatArray:
        """float32[n, d], L2-normalised, of float32[n, d]. Raises AdapterRefusedError for vectors of another length.

        Of vectors twice as long the last d numbers are those that are compared; the others stay as they are.
        """
        if vectors.shape[-1] == 2 * self.dimensions:
            return np.concatenate(
                [vectors[..., : self.dimensions], self.apply(vectors[..., self.dimensions :])], axis=-1
            )
        if vectors.shape[-1] != self.dimensions:
            raise AdapterRefusedError("dimensions", found=int(vectors.shape[-1]), wanted=self.dimensions)
        moved = vectors + (vectors @ self.down) @ self.up + self.shift
        norms = np.linalg.norm(moved, axis=-1, keepdims=True)
        # where nothing is left of a vector, the question keeps its own
        return np.asarray(np.where(norms > 1e-6, moved / np.maximum(norms, 1e-6), vectors), dtype=np.float32)

    def on_plain_scale(self, cosine: float) -> float:
        """A cosine of an adapted question as one of plain questions; keeps the order, at most 1, at least -1."""
        return max(-1.0, min(1.0, self.slope * cosine + self.level))

    def pack(self) -> bytes:
        """As stored: arrays without pickled objects, float16 (200 kB with 768 dimensions and rank 64)."""
        stream = BytesIO()
        np.savez(
            stream,
            down=self.down.astype(np.float16),
            up=self.up.astype(np.float16),
            shift=self.shift.astype(np.float16),
            scale=np.array([self.slope, self.level], np.float64),
        )
        return stream.getvalue()


def adapter_unpack(packed: bytes, *, dimensions: int) -> QueryAdapter:
    """An adapter from what `pack` made.

    Raises AdapterRefusedError where it is damaged, not finite, of another shape, or made for vectors of another length.
    """
    try:
        with np.load(BytesIO(packed), allow_pickle=False) as stored:
            down, up, shift, scale = (np.asarray(stored[name]) for name in ARRAYS)
    except (ValueError, KeyError, OSError, EOFError, BadZipFile) as error:
        raise AdapterRefusedError("damaged") from error
    if shift.ndim != 1 or shift.shape[0] != dimensions:
        raise AdapterRefusedError("dimensions", found=int(shift.size), wanted=dimensions)
    rank = down.shape[1] if down.ndim == 2 else 0
    fits = down.shape == (dimensions, rank) and up.shape == (rank, dimensions) and scale.shape == (2,)
    if not fits or rank > MOST_RANK:
        raise AdapterRefusedError("damaged")
    if not all(bool(np.isfinite(matrix).all()) for matrix in (down, up, shift, scale)) or scale[0] <= 0:
        raise AdapterRefusedError("damaged")
    return QueryAdapter(
        down=down.astype(np.float32),
        up=up.astype(np.float32),
        shift=shift.astype(np.float32),
        slope=float(scale[0]),
        level=float(scale[1]),
    )
