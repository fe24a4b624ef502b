"""Uncertainty of means over questions: percentile bootstrap (Efron 1979), paired for two systems.

Questions are drawn with replacement, all resamples at once. Seeded: the same values give the same interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RESAMPLES = 4000
SEED = 7
PERCENTILES = (2.5, 97.5)
Values = Sequence[float] | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean and its 95 % interval."""

    value: float
    low: float
    high: float

    def text(self, *, signed: bool = False) -> str:
        """0.931 (0.910–0.950); with signs for differences."""
        sign = "+" if signed else ""
        return f"{self.value:{sign}.3f} ({self.low:{sign}.3f} to {self.high:{sign}.3f})"


def mean_interval(values: Values) -> Interval:
    """Of one figure over the questions of a set. Raises ValueError without values."""
    return set_mean_interval([values])


def paired_difference(ours: Values, theirs: Values) -> Interval:
    """Of `ours - theirs`, question by question, which removes how hard each question is. Raises ValueError."""
    return set_mean_difference([(ours, theirs)])


def set_mean_difference(pairs: Sequence[tuple[Values, Values]]) -> Interval:
    """Of the mean over sets of (ours, theirs); every set weighs the same, however many questions it has.

    Raises ValueError where two systems did not answer the same number of questions.
    """
    differences = []
    for ours, theirs in pairs:
        if len(ours) != len(theirs):
            raise ValueError(f"{len(ours)} answers beside {len(theirs)}: not the same questions")
        differences.append(np.asarray(ours, np.float64) - np.asarray(theirs, np.float64))
    return set_mean_interval(differences)


def set_mean_interval(sets: Sequence[Values]) -> Interval:
    """Of the mean over sets of the mean over questions; questions are drawn within each set."""
    if not sets or not all(len(values) for values in sets):
        raise ValueError("no values")
    random = np.random.default_rng(SEED)
    samples = [np.asarray(values, np.float64) for values in sets]
    value = float(np.mean([sample.mean() for sample in samples]))
    drawn = np.mean([_resampled_means(sample, random) for sample in samples], axis=0)
    low, high = np.percentile(drawn, PERCENTILES)
    # of equal values the resampled means differ from the mean in the last digit
    return Interval(value=value, low=min(float(low), value), high=max(float(high), value))


def _resampled_means(sample: npt.NDArray[np.float64], random: np.random.Generator) -> npt.NDArray[np.float64]:
    """float64[RESAMPLES]."""
    drawn = random.integers(0, len(sample), size=(RESAMPLES, len(sample)))
    return np.asarray(sample[drawn].mean(axis=1), np.float64)
