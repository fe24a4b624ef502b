"""Uncertainty of figures over questions: percentile bootstrap (Efron 1979), paired for two systems.

Questions are drawn with replacement, all resamples at once. Seeded: the same values give the same interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RESAMPLES = 4000
SEED = 20
PERCENTILES = (2.5, 97.5)
AT_ONCE = 2_000_000  # drawn values, which bounds the memory of long lists
Sample = npt.NDArray[np.float64]
Values = Sequence[float] | Sample
Statistic = Callable[[Sample], Sample]  # over the last axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float

    def text(self, *, signed: bool = False) -> str:
        """0.931 (0.910–0.950); with signs for differences."""
        sign = "+" if signed else ""
        return f"{self.value:{sign}.3f} ({self.low:{sign}.3f} to {self.high:{sign}.3f})"


def mean(sample: Sample) -> Sample:
    """Over the last axis."""
    return np.asarray(sample.mean(axis=-1), np.float64)


def percentile(share: float) -> Statistic:
    """The statistic of this percentile, 0 to 100."""
    return lambda sample: np.asarray(np.percentile(sample, share, axis=-1), np.float64)


def interval(values: Values, *, statistic: Statistic = mean, resamples: int = RESAMPLES) -> Interval:
    """Of one statistic over the questions of a set. Raises ValueError without values."""
    return _interval([np.asarray(values, np.float64)], statistic, resamples)


def mean_interval(values: Values) -> Interval:
    """Of the mean over the questions of a set. Raises ValueError without values."""
    return interval(values)


def paired_interval(ours: Values, theirs: Values) -> Interval:
    """Of the mean of `ours - theirs`, question by question, which removes how hard each question is.

    Raises ValueError.
    """
    return set_mean_difference([(ours, theirs)])


def set_mean_difference(pairs: Sequence[tuple[Values, Values]]) -> Interval:
    """Of the mean over sets of (ours, theirs); every set weighs the same, however many questions it has.

    Raises ValueError where two systems did not answer the same number of questions.
    """
    return set_mean_interval([differences(ours, theirs) for ours, theirs in pairs])


def set_mean_interval(sets: Sequence[Values]) -> Interval:
    """Of the mean over sets of the mean over questions; questions are drawn within each set."""
    return _interval([np.asarray(values, np.float64) for values in sets], mean, RESAMPLES)


def differences(ours: Values, theirs: Values) -> Sample:
    """ours - theirs, float64[n]. Raises ValueError for another number of values."""
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} answers beside {len(theirs)}: not the same questions, nothing is paired")
    return np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)


def _interval(samples: Sequence[Sample], statistic: Statistic, resamples: int) -> Interval:
    if not samples or not all(len(sample) for sample in samples):
        raise ValueError("no values")
    random = np.random.default_rng(SEED)
    value = float(np.mean([statistic(sample) for sample in samples]))
    drawn = np.mean([_resampled(sample, statistic, resamples, random) for sample in samples], axis=0)
    low, high = np.percentile(drawn, PERCENTILES)
    # of equal values the resampled means differ from the mean in the last digit
    return Interval(value=value, low=min(float(low), value), high=max(float(high), value))


def _resampled(sample: Sample, statistic: Statistic, resamples: int, random: np.random.Generator) -> Sample:
    """The statistic of each resample, float64[resamples]."""
    values = np.empty(resamples)
    step = max(1, AT_ONCE // len(sample))
    for begin in range(0, resamples, step):
        count = min(step, resamples - begin)
        values[begin : begin + count] = statistic(sample[random.integers(0, len(sample), (count, len(sample)))])
    return values
