"""Bringing the cosines of a set's own embedding model to the scale of the site's (decision 041).

Where the site's model can read the texts of the set, medians of both models are laid on each other. Where it cannot, as
with a script that it was never trained on, its cosines say nothing: they lie close together, or are high for texts
that have nothing in common. The set's model is then laid on what the packaged model says of texts that it can read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragcore.embedding.cosine_scale import LEAST_SPREAD, SLOPES, CosineScale, cosine_scale
from ragcore.ports import FloatArray

# Medians of the packaged model for sentences in the middle of 200 passages of this site's documentation, measured in
# November 2026: the cosine with the own passage, and the best one of all others. 28 passages of the demo say 0.38 and
# 0.28, its decisions 0.37 and 0.32.
REFERENCE = (0.38, 0.31)
REFERENCE_PREFIX = (0.40, 0.34)  # the same by the prefixes that are compared first
REFERENCE_FLOOR = 0.3  # the default of `min_cosine` for that model
KNEE = 0.9  # from which on cosines are pressed together below 1


@dataclass(frozen=True, slots=True)
class OpenScale(CosineScale):
    """As CosineScale, but what would be 1 or more stays below 1 and keeps its order: nothing is cut, nothing ties."""

    def __call__(self, cosine: float) -> float:
        return below_one(self.offset + self.slope * cosine)


def below_one(value: float) -> float:
    """The value up to KNEE; greater ones come ever nearer to 1, in their order."""
    if value <= KNEE:
        return value
    beyond = (value - KNEE) / (1.0 - KNEE)
    return KNEE + (1.0 - KNEE) * beyond / (1.0 + beyond)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteCosines:
    """What the site's model says of sentences of a set.

    `near_far`: float[q, 2], the cosine with the own passage, and the best one of all others. `unrelated`: the median
    of all cosines. `floor`: below which the model says that nothing was found, the default of `min_cosine`.
    `reference`: medians of `near_far` of the packaged model where it reads the texts.
    """

    near_far: FloatArray
    unrelated: float
    floor: float = REFERENCE_FLOOR
    reference: tuple[float, float] = REFERENCE

    @property
    def room(self) -> float:
        """How much of the room above its floor this model has, by that of the packaged one."""
        return (1.0 - self.floor) / (1.0 - REFERENCE_FLOOR)

    def usual(self) -> tuple[float, float]:
        """The reference for a model with this floor: as far between floor and 1 as with the packaged one."""
        near, far = (1.0 - (1.0 - value) * self.room for value in self.reference)
        return near, far


def set_scale(site: SiteCosines, cosines: FloatArray) -> OpenScale:
    """The scale of a set's model; `cosines`: float[q, 2] as `near_far`, of the same sentences."""
    if not len(cosines):
        return OpenScale()
    near_own, far_own = (float(value) for value in np.median(cosines, axis=0))
    if reads(site, spread=near_own - far_own):
        scale = cosine_scale(site.near_far, cosines)
        return OpenScale(scale.offset, scale.slope)
    near, far = site.usual()
    if near_own - far_own < LEAST_SPREAD:  # neither tells them apart, as with passages that repeat each other
        return OpenScale(near - near_own, 1.0)
    slope = float(np.clip((near - far) / (near_own - far_own), *SLOPES))
    return OpenScale(far - slope * far_own, slope)


def reads(site: SiteCosines, *, spread: float) -> bool:
    """Whether the site's cosines say something of these texts; `spread`: between near and far of the set's model.

    Not where near and far are as good as the same, or by far nearer to each other than with the set's model; and not
    where texts that have nothing in common are above the model's own floor.
    """
    near, far = (float(value) for value in np.median(site.near_far, axis=0))
    return near - far >= max(LEAST_SPREAD * site.room, SLOPES[0] * spread) and site.unrelated < site.floor
