"""Laying the cosines of two embedding models on one scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragcore.ports import FloatArray

Ints = npt.NDArray[np.int64]


LEAST_SPREAD = 0.02  # of cosines, below which a scale says nothing
SLOPES = (0.25, 4.0)


@dataclass(frozen=True, slots=True)
class CosineScale:
    """Brings a cosine of one model to the scale of another one: offset + slope · cosine, slope above 0."""

    offset: float = 0.0
    slope: float = 1.0

    def __call__(self, cosine: float) -> float:
        return min(1.0, self.offset + self.slope * cosine)


def cosine_scale(base: FloatArray, other: FloatArray) -> CosineScale:
    """The scale on which the other model's cosines are spread as those of the base model are.

    `base` and `other`: float[q, 2] of either model: for each question the best cosine of what it is about, and the best
    one of everything else. The medians of both columns are laid on each other.
    """
    if not len(base):
        return CosineScale()
    (near, far), (near_other, far_other) = np.median(base, axis=0), np.median(other, axis=0)
    if near_other - far_other < LEAST_SPREAD or near - far < LEAST_SPREAD:
        return CosineScale(float(far - far_other), 1.0)
    slope = float(np.clip((near - far) / (near_other - far_other), *SLOPES))
    return CosineScale(float(far - slope * far_other), slope)
