"""Two configurations over the same cases: permutation test, correction for many metrics, wins and losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragcore.metrics.bootstrap import AT_ONCE, SEED, Sample, interval

EXACT = 14  # differing cases up to which every permutation is tried
PERMUTATIONS = 10_000
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
    """The difference of two lists of values of the same cases.

    The interval is a paired bootstrap over cases (Efron 1979). The p-value is that of a paired permutation test
    (Fisher 1935): the share of all ways to exchange the two values within cases whose mean difference is as far from 0,
    exact up to EXACT differing cases, beyond that over PERMUTATIONS of them. Of n differing cases it is never below
    2 · 0.5^n, so fewer than six are never significant. The same values give the same result.
    Raises ValueError for lists of different length or without values.
    """
    if len(first) != len(second) or not first:
        raise ValueError("paired values are needed")
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    change = b - a
    around = interval(change)
    p = permutation_p(change)
    return PairedDifference(
        first=float(a.mean()),
        second=float(b.mean()),
        difference=float(change.mean()),
        low=around.low,
        high=around.high,
        p=p,
        p_corrected=p,
        cases=len(change),
        higher=int((change > TIE).sum()),
        lower=int((change < -TIE).sum()),
        sd=float(change.std(ddof=1)) if len(change) > 1 else 0.0,
    )


def least_differing(metrics: int = 1) -> int:
    """Cases that must differ, all in the same direction, before a difference can be significant after the correction
    for so many metrics: the smallest n with 2 · 0.5^n · metrics < SIGNIFICANT. 6 for one metric, 7 for two and three.
    """
    cases = 1
    while 2 * 0.5**cases * max(metrics, 1) >= SIGNIFICANT:
        cases += 1
    return cases


def permutation_p(change: Sample) -> float:
    """Two-sided p-value of differences float64[n] under exchanging the two values of each case; 1.0 without any."""
    differing = change[np.abs(change) > TIE]
    if not len(differing):
        return 1.0
    if len(differing) <= EXACT:
        ways = np.arange(2 ** (len(differing) - 1))[:, None] >> np.arange(len(differing)) & 1  # the other half mirrors
        return float(_as_far(signs=np.asarray(1.0 - 2.0 * ways, np.float64), values=differing) / len(ways))
    random = np.random.default_rng(SEED)
    step = max(1, AT_ONCE // len(differing))
    sizes = [min(step, PERMUTATIONS - begin) for begin in range(0, PERMUTATIONS, step)]
    far = sum(_as_far(signs=random.choice((-1.0, 1.0), (size, len(differing))), values=differing) for size in sizes)  # nosec B311 - statistics
    return (far + 1) / (PERMUTATIONS + 1)  # with the one that happened


def _as_far(*, signs: Sample, values: Sample) -> int:
    """How many rows of signs float64[k, n] make a sum of the values that is as far from 0 as theirs is."""
    return int((np.abs(signs @ values) >= abs(values.sum()) - TIE).sum())


def compare(first: Mapping[str, Sequence[float]], second: Mapping[str, Sequence[float]]) -> dict[str, PairedDifference]:
    """Metric -> difference, in the order of `first`; metrics that only one of them has are left out."""
    differences = {name: paired_difference(first[name], second[name]) for name in first if name in second}
    corrected = holm({name: difference.p for name, difference in differences.items()})
    return {name: replace(difference, p_corrected=corrected[name]) for name, difference in differences.items()}


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """p-values corrected for their number (Holm 1979): the smallest times n, the next times n - 1, never decreasing."""
    corrected: dict[str, float] = {}
    least = 0.0
    for place, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        least = max(least, min(1.0, p * (len(p_values) - place)))
        corrected[name] = least
    return corrected
