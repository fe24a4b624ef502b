"""Means with their uncertainty, and what a run of many cases amounts to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ragcore.metrics.answers import contains_gold
from ragcore.metrics.retrieval import mrr_at_k, ndcg_at_k, recall_at_k

RESAMPLES = 1000
SEED = 20
TIMES = {"p50_ms": "p50", "p95_ms": "p95"}
Sample = npt.NDArray[np.float64]
STATISTICS: Mapping[str, Callable[[Sample], float]] = {
    "mean": lambda sample: float(sample.mean()),
    "p50": lambda sample: float(np.percentile(sample, 50)),
    "p95": lambda sample: float(np.percentile(sample, 95)),
}
SHARES = ("recall@1", "recall@5", "recall@10", "ndcg@10", "mrr@10", "contains_answer", "cites_relevant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A value with its 95 % interval and the number of cases behind it."""

    value: float
    low: float
    high: float
    cases: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """Figures of one case; None where the case has nothing to compare with."""

    case: int
    milliseconds: float
    found: tuple[str, ...]  # documents, best first, each once
    scores: Mapping[str, float]

    def as_json(self) -> dict[str, Any]:
        return {"id": self.case, "milliseconds": round(self.milliseconds, 1), "found": list(self.found), **self.scores}


def retrieval_scores(*, found: Sequence[str], relevant: Sequence[str]) -> dict[str, float]:
    """Figures in 0..1 of one ranking of documents; empty where nothing is known to be relevant."""
    if not relevant:
        return {}
    wanted = set(relevant)
    return {
        **{f"recall@{k}": recall_at_k(found, wanted, k) for k in (1, 5, 10)},
        "ndcg@10": ndcg_at_k(found, wanted, 10),
        "mrr@10": mrr_at_k(found, wanted, 10),
    }


def answer_scores(
    *, text: str, cited: Sequence[str], answers: Sequence[str], relevant: Sequence[str]
) -> dict[str, float]:
    """1 or 0: does the answer contain an accepted string; does it cite a relevant document."""
    scores: dict[str, float] = {}
    if answers:
        scores["contains_answer"] = float(contains_gold(text, answers))
    if relevant:
        scores["cites_relevant"] = float(bool(set(cited) & set(relevant)))
    return scores


def run_figures(results: Sequence[CaseResult]) -> dict[str, Any]:
    """Metric -> {value, low, high, cases}: shares in 0..1, `p50_ms` and `p95_ms` in milliseconds."""
    figures = {}
    for name in SHARES:
        values = [result.scores[name] for result in results if name in result.scores]
        if values:
            figures[name] = asdict(bootstrap(values, statistic="mean"))
    times = [result.milliseconds for result in results]
    for name, statistic in TIMES.items():
        figures[name] = asdict(bootstrap(times, statistic=statistic))
    return figures


def bootstrap(values: Sequence[float], *, statistic: str) -> Figure:
    """The mean, p50 or p95 with its percentile bootstrap interval (Efron 1979); the same values give the same one.

    Raises ValueError without values.
    """
    if not values:
        raise ValueError("no values")
    sample = np.asarray(values, dtype=np.float64)
    random = np.random.default_rng(SEED)
    estimate = STATISTICS[statistic]
    estimates = [estimate(sample[random.integers(0, len(sample), len(sample))]) for _ in range(RESAMPLES)]
    low, high = np.percentile(estimates, [2.5, 97.5])
    return Figure(
        value=round(estimate(sample), 4), low=round(float(low), 4), high=round(float(high), 4), cases=len(sample)
    )
