"""Figures of a run: means with 95 % intervals and standard deviations, over all cases and by dimension."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ragcore.metrics.bootstrap import Statistic, interval, mean, percentile
from ragcore.metrics.registry import all_metrics, metric_info

RESAMPLES = 1000
TIMES = {"p50_ms": "p50", "p95_ms": "p95"}
STATISTICS: Mapping[str, Statistic] = {"mean": mean, "p50": percentile(50), "p95": percentile(95)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A value with its 95 % interval, the standard deviation of the cases, and their number."""

    value: float
    low: float
    high: float
    cases: int
    sd: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseScores:
    """What the figures are computed from: one case under one configuration."""

    scores: Mapping[str, float]
    seconds: float
    dimensions: Mapping[str, str]  # dimension -> value


def figure_of(values: Sequence[float], *, statistic: str) -> Figure:
    """The mean, p50 or p95 with its percentile bootstrap interval (Efron 1979); the same values give the same one.

    Raises ValueError without values.
    """
    bounds = interval(values, statistic=STATISTICS[statistic], resamples=RESAMPLES)
    return Figure(
        value=round(bounds.value, 4),
        low=round(bounds.low, 4),
        high=round(bounds.high, 4),
        cases=len(values),
        sd=deviation(values),
    )


def deviation(values: Sequence[float]) -> float:
    """Standard deviation of a sample (n - 1); 0 for a single value."""
    return round(float(np.std(values, ddof=1)), 4) if len(values) > 1 else 0.0


def run_figures(results: Sequence[CaseScores]) -> dict[str, Any]:
    """Metric -> {value, low, high, cases, sd}: shares in 0..1, `p50_ms` and `p95_ms` in milliseconds.

    A metric with levels has `levels`, too: level -> number of cases.
    """
    figures = {
        name: {**asdict(figure_of(values, statistic="mean")), **_levels(name, values)}
        for name, values in _columns(results).items()
    }
    times = [result.seconds * 1000 for result in results]
    if times:
        figures |= {name: asdict(figure_of(times, statistic=statistic)) for name, statistic in TIMES.items()}
    return figures


def dimension_figures(results: Sequence[CaseScores]) -> dict[str, Any]:
    """Dimension -> value -> metric -> {value, sd, cases, levels?}.

    A dimension of one value only says nothing and is left out, as figures of earlier stages are.
    """
    figures: dict[str, Any] = {}
    names = dict.fromkeys(name for result in results for name in result.dimensions)
    for name in names:
        groups: dict[str, list[CaseScores]] = {}
        for result in results:
            groups.setdefault(result.dimensions.get(name, ""), []).append(result)
        if len(groups) > 1:
            figures[name] = {value: _means(group) for value, group in sorted(groups.items())}
    return figures


def _means(results: Sequence[CaseScores]) -> dict[str, Any]:
    columns = {name: values for name, values in _columns(results).items() if "." not in name}
    return {
        name: {
            "value": round(sum(values) / len(values), 4),
            "sd": deviation(values),
            "cases": len(values),
            **_levels(name, values),
        }
        for name, values in columns.items()
    }


def _levels(name: str, values: Sequence[float]) -> dict[str, Any]:
    """{"levels": level -> cases} of a metric that has levels, best first; nothing of any other."""
    info = metric_info(name)
    if info is None or not info.levels:
        return {}
    return {"levels": {label: sum(value == level for value in values) for level, label in info.levels.items()}}


def _columns(results: Sequence[CaseScores]) -> dict[str, list[float]]:
    """The values of each metric, in the order of tables."""
    columns: dict[str, list[float]] = {}
    for result in results:
        for name, value in result.scores.items():
            columns.setdefault(name, []).append(value)
    return {name: columns[name] for name in ordered(columns)}


def ordered(names: Iterable[str]) -> list[str]:
    """Names of metrics in the order of tables; figures of stages follow their metric, unknown names come last."""
    places = {name: place for place, name in enumerate(all_metrics())}
    return sorted(names, key=lambda name: (places.get(name.partition(".")[0], len(places)), name))


def is_share(name: str) -> bool:
    """Whether a metric is a share between 0 and 1."""
    info = metric_info(name)
    return info is not None and info.unit == "share"
