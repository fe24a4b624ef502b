"""From the vectors of a model to the 768 numbers that the index stores, of which the first 384 serve alone.

Matryoshka models order their numbers: a prefix of them is a usable vector (Kusupati et al. 2022, arXiv 2205.13147).
Others do not, and cutting them loses what they find. Whether a model does is measured on a sample: how many of the
nearest neighbours by all numbers are found by the prefix. Where too few are, the principal directions of the sample
turn the vectors so that their first numbers hold the most (Jolliffe 2002, Principal Component Analysis, ch. 3). For a
model of 768 numbers and fewer that is a rotation, which changes no cosine. Zeros follow vectors of fewer than 768
numbers; of at most 384, the first 384 are the whole vector.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragcore.embedding.rotation import PREFIX, orthonormal, principal_directions, second_moment
from ragcore.embedding.script_trust import ScriptTrust
from ragcore.embedding.vectors import DIMENSIONS, matryoshka
from ragcore.errors import EmbedderRefusedError
from ragcore.ports import FloatArray

NEIGHBOURS = 10
WHOLE_DEPTH = 20  # in which the nearest by all numbers must be found by 768: they are not looked up again
PREFIX_DEPTH = 50  # by 384: the coarse search keeps many times more than it needs
VERIFIED = 0.95  # share of neighbours with which a prefix counts as one that the model was trained for
LEAST_KEPT = 0.9  # share below which a projection is refused, too
PACKAGED_SPREADS = 3.28  # that 0.3 is above the mean for the packaged model, on `sample_texts(most=256)`
LEAST_TEXTS = 60  # of a sample: with fewer, all texts are neighbours

Kind = Literal["prefix", "projection"]


@dataclass(frozen=True, kw_only=True)
class Shortening:
    """How vectors of one model become shorter ones; never changes once vectors are stored.

    `packed`: float16[dimensions, k], row by row, of a projection (1.6 MB from 1,024 numbers), where k is 768 or all
    numbers of a smaller model; None: the first 768 numbers as they are. What is stored is what was measured.
    `kept_whole`, `kept_prefix`: shares of neighbours that 768 and 384 numbers find, as measured; None: not measured.
    """

    dimensions: int
    packed: bytes | None = field(default=None, repr=False)
    kept_whole: float | None = None
    kept_prefix: float | None = None
    floor: float | None = None  # `cosine_floor`
    trust: ScriptTrust | None = None  # by script, as measured; None: not measured

    @property
    def kind(self) -> Kind:
        return "prefix" if self.packed is None else "projection"

    @cached_property
    def projection(self) -> FloatArray | None:
        """float32[dimensions, k] with orthonormal columns; the same on every machine to 1e-6."""
        if self.packed is None:
            return None
        return orthonormal(np.frombuffer(self.packed, "<f2").reshape(self.dimensions, -1))

    def apply(self, vectors: npt.ArrayLike, *, model: str) -> FloatArray:
        """float32[n, 768], L2-normalised, from float[n, dimensions]. Raises EmbedderRefusedError for another width."""
        rows = np.asarray(vectors, dtype=np.float32)
        if rows.ndim != 2 or rows.shape[1] != self.dimensions:
            width = rows.shape[1] if rows.ndim == 2 else 0
            raise EmbedderRefusedError("other_dimensions", model=model, dimensions=width, needed=self.dimensions)
        if self.projection is not None:
            rows = _unit(rows) @ self.projection
        return matryoshka(rows, model=model)


def neighbours_kept(full: FloatArray, short: FloatArray, *, depth: int) -> float:
    """0 to 1: the share of the 10 nearest by `full` that are among the `depth` nearest by `short`.

    float32[n, d] and float32[n, k] of the same texts; every text asks for the others, by cosine.
    """
    by_full, by_short = _nearest(full, NEIGHBOURS), _nearest(short, depth)
    shared = [
        len(set(nearest) & set(other)) for nearest, other in zip(by_full.tolist(), by_short.tolist(), strict=True)
    ]
    return sum(shared) / by_full.size


def cosine_floor(sample: FloatArray) -> float:
    """0.05 to 0.95: the cosine that means as much for this model as 0.3 does for the packaged one.

    float32[n, 768] of the sample. Cosines of texts that have nothing to do with each other have a mean and a spread of
    their own in each model; the floor is as many spreads above the mean as 0.3 is for the packaged model on the same
    texts. A corpus of one subject would not do as the sample: all its texts are near to each other.
    """
    rows = _unit(sample)
    cosines = (rows @ rows.T)[np.triu_indices(len(rows), 1)]
    return float(np.clip(cosines.mean() + PACKAGED_SPREADS * cosines.std(), 0.05, 0.95))


def prefix_verify(sample: FloatArray, *, model: str) -> Shortening | None:
    """The plain prefix, where a sample float32[n, d] shows that it serves; None where it does not.

    Raises EmbedderRefusedError below 64 numbers, for vectors that are zero or not finite, and for texts that all have
    the same vector.
    """
    rows = _checked(sample, model)
    kept_whole = neighbours_kept(rows, rows[:, :DIMENSIONS], depth=WHOLE_DEPTH)
    kept_prefix = neighbours_kept(rows, rows[:, :PREFIX], depth=PREFIX_DEPTH)
    if min(kept_whole, kept_prefix) < VERIFIED:
        return None
    floor = cosine_floor(rows[:, :DIMENSIONS])
    return Shortening(dimensions=rows.shape[1], kept_whole=kept_whole, kept_prefix=kept_prefix, floor=floor)


def projection_fit(sample: FloatArray, *, model: str) -> Shortening:
    """A projection fitted on three quarters of a sample float32[n, d] and measured on the others.

    Raises EmbedderRefusedError where even that loses too many neighbours, and as `prefix_verify` does.
    """
    rows = _checked(sample, model)
    is_held_out = np.arange(len(rows)) % 4 == 0
    directions = principal_directions(second_moment(rows[~is_held_out]))[:, :DIMENSIONS]
    projection = Shortening(dimensions=rows.shape[1], packed=directions.astype("<f2").tobytes())
    held_out = rows[is_held_out]
    short = projection.apply(held_out, model=model)
    kept_whole = neighbours_kept(held_out, short, depth=WHOLE_DEPTH)
    kept_prefix = neighbours_kept(held_out, short[:, :PREFIX], depth=PREFIX_DEPTH)
    if min(kept_whole, kept_prefix) < LEAST_KEPT:
        raise EmbedderRefusedError("no_prefix", model=model, kept=f"{100 * min(kept_whole, kept_prefix):.0f}")
    return replace(projection, kept_whole=kept_whole, kept_prefix=kept_prefix, floor=cosine_floor(short))


def _checked(sample: FloatArray, model: str) -> FloatArray:
    """Unit rows."""
    matryoshka(sample, model=model)
    if len(sample) < LEAST_TEXTS:
        raise ValueError(f"a sample has at least {LEAST_TEXTS} texts")
    rows = _unit(np.asarray(sample, dtype=np.float32))
    if np.ptp(rows, axis=0).max() < 1e-4:
        raise EmbedderRefusedError("all_alike", model=model)
    return rows


def _unit(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), dtype=np.float32)


def _nearest(vectors: FloatArray, count: int) -> npt.NDArray[np.int64]:
    """int64[n, count]: places of the nearest other rows by cosine."""
    rows = _unit(vectors)
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -np.inf)
    count = min(count, len(rows) - 1)
    return np.asarray(np.argsort(-cosines, axis=1, kind="stable")[:, :count], dtype=np.int64)
