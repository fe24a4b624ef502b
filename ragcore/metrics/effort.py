"""What a case took: time and money."""

from __future__ import annotations

from ragcore.labels import gettext_noop as _
from ragcore.metrics.registry import MeasuredCase, MetricTools, metric


@metric(
    "seconds", label=_("Latency"), help=_("Time of the whole case."), unit="seconds", higher_is_better=False, order=80
)
class Seconds:
    """Wall-clock time of the case in seconds."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        return case.seconds


@metric("cost", label=_("Cost"), help=_("By the price table."), unit="money", higher_is_better=False, order=81)
class Cost:
    """Price of the model calls of the case, in the currency of the price table; None where a price is not known."""

    def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
        return case.cost
