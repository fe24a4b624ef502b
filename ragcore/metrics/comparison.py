"""Two configurations over the same cases: paired bootstrap, correction for many metrics, wins and losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

RESAMPLES = 10_000
SEED = 20
TIE = 1e-9  # differences up to it are none
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """How the second configuration differs from the first in one metric. Differences are second minus first."""

    first: float  # mean
    second: float
    difference: float
    low: float  # 95 % interval of the difference
    high: float
    p: float  # two-sided
    p_corrected: float  # for all metrics that are compared (Holm)
    cases: int
    higher: int  # cases in which the second value is higher
    lower: int
    sd: float  # of the differences

    @property
    def ties(self) -> int:
        """Cases without a difference."""
        return self.cases - self.higher - self.lower

    @property
    def is_significant(self) -> bool:
        return self.p_corrected < SIGNIFICANT


def paired_difference(first: Sequence[float], second: Sequence[float]) -> PairedDifference:
    """The difference of two lists of values of the same cases, by a paired bootstrap over cases (Efron 1979).

    The p-value is the share of resampled means on the other side of 0, twice the smaller one. With few cases that
    differ a bootstrap is too sure of itself; so p is at least 2 · 0.5^n for n differing cases, the least that a test
    of signs can say: fewer than six differing cases are never significant. The same values give the same result.
    Raises ValueError for lists of different length or without values.
    """
    if len(first) != len(second) or not first:
        raise ValueError("paired values are needed")
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    differences = b - a
    random = np.random.default_rng(SEED)
    means = np.empty(RESAMPLES)
    step = max(1, 2_000_000 // len(differences))  # bounds the memory of long lists
    for begin in range(0, RESAMPLES, step):
        count = min(step, RESAMPLES - begin)
        drawn = random.integers(0, len(differences), (count, len(differences)))
        means[begin : begin + count] = differences[drawn].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    higher, lower = int((differences > TIE).sum()), int((differences < -TIE).sum())
    p = _p_value(means, higher + lower)
    return PairedDifference(
        first=float(a.mean()),
        second=float(b.mean()),
        difference=float(differences.mean()),
        low=float(low),
        high=float(high),
        p=p,
        p_corrected=p,
        cases=len(differences),
        higher=higher,
        lower=lower,
        sd=float(differences.std(ddof=1)) if len(differences) > 1 else 0.0,
    )


def _p_value(means: np.ndarray[tuple[int], np.dtype[np.float64]], differing: int) -> float:
    if not differing:
        return 1.0
    below, above = (means <= 0).sum() + 1, (means >= 0).sum() + 1
    least = 2.0 * 0.5**differing
    return float(min(1.0, max(2.0 * min(below, above) / (len(means) + 1), least)))


def compare(first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]]) -> dict[str, PairedDifference]:
    """Metric -> difference, in the order of `first`; metrics that only one of them has are left out."""
    found = {name: paired_difference(first[name], second[name]) for name in first if name in second}
    corrected = holm({name: one.p for name, one in found.items()})
    return {name: replace(one, p_corrected=corrected[name]) for name, one in found.items()}


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """p-values corrected for their number (Holm 1979): the smallest times n, the next times n - 1, never decreasing."""
    corrected: dict[str, float] = {}
    least = 0.0
    for place, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        least = max(least, min(1.0, p * (len(p_values) - place)))
        corrected[name] = least
    return corrected
