"""Comparing two arms of a running experiment at any time: confidence sequences that stay valid under peeking.

Normal mixture sequential probability ratio test: Johari, Koomen, Pekelis, Walsh, "Always Valid Inference: Continuous
Monitoring of A/B Tests" (Operations Research 70(3), 2022, arXiv:1512.04922), after Robbins 1970. Every person counts
once, with the mean of their observations: questions of one person are not independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

LEAST_PEOPLE = 10  # in each arm, before anything is said
EFFECT = (
    0.1  # standard deviation of the effects that are expected, as a share; the bounds are tightest for such effects
)

Verdict = Literal["too_few", "open", "better", "worse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmFigures:
    """One outcome in one arm: for each person how many observations, and their sum; an observation is 0 to 1."""

    people: Sequence[tuple[int, float]]

    @property
    def observations(self) -> int:
        return sum(number for number, _ in self.people)

    @property
    def means(self) -> list[float]:
        """Of each person who has an observation."""
        return [total / number for number, total in self.people if number]

    @property
    def mean(self) -> float | None:
        means = self.means
        return sum(means) / len(means) if means else None

    @property
    def variance(self) -> float:
        """Of the mean, with one person of 0 and one of 1 added: equal means of a few people are no certainty."""
        means = [0.0, 1.0, *self.means]
        many, mean = len(means), sum(means) / len(means)
        return sum((value - mean) ** 2 for value in means) / (many * (many - 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmComparison:
    """Candidate minus live for one outcome, with bounds that hold at every look with probability 1 - alpha."""

    live: ArmFigures
    candidate: ArmFigures
    alpha: float

    @property
    def difference(self) -> float | None:
        if self.live.mean is None or self.candidate.mean is None:
            return None
        return self.candidate.mean - self.live.mean

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Lower and upper bound of the difference, within -1 and 1; None before LEAST_PEOPLE are in each arm."""
        if self.difference is None or min(len(self.live.people), len(self.candidate.people)) < LEAST_PEOPLE:
            return None
        half = half_width(self.live.variance + self.candidate.variance, alpha=self.alpha)
        return max(-1.0, self.difference - half), min(1.0, self.difference + half)

    @property
    def verdict(self) -> Verdict:
        """Whether the candidate is better or worse beyond chance; an outcome is better when it is higher."""
        bounds = self.bounds
        if bounds is None:
            return "too_few"
        return "better" if bounds[0] > 0 else "worse" if bounds[1] < 0 else "open"


def half_width(variance: float, *, alpha: float, effect: float = EFFECT) -> float:
    """Half the width of the confidence sequence for a difference of this variance (equation 9 of Johari et al.)."""
    prior = effect**2
    return math.sqrt(variance * (variance + prior) / prior * (2 * math.log(1 / alpha) + math.log1p(prior / variance)))
