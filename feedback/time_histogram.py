"""How long questions took, by day, in buckets of a logarithmic scale."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from django.db.models import Count, Func, IntegerField, QuerySet
from django.db.models.functions import TruncDate

from chat.models import TurnFigures

BUCKETS, LEAST_SECONDS = 20, 0.001  # of the scale: 5 % each; shorter times count as the least


class Bucket(Func):
    """Number of the bucket of a time on a logarithmic scale."""

    template = f"floor(ln(greatest(%(expressions)s, {LEAST_SECONDS})) * {BUCKETS})::int"
    output_field = IntegerField()


@dataclass(frozen=True)
class Histogram:
    """How long questions took, by day, in buckets of 5 %: percentiles without sorting all rows."""

    days: Mapping[date, Mapping[int, int]]

    @classmethod
    def of(cls, turns: QuerySet[TurnFigures]) -> Histogram:
        rows = turns.order_by().exclude(seconds=None).annotate(on=TruncDate("asked"), at=Bucket("seconds"))
        days: dict[date, dict[int, int]] = {}
        for row in rows.values("on", "at").annotate(n=Count("pk")):
            days.setdefault(row["on"], {})[row["at"]] = row["n"]
        return cls(days)

    def percentile(self, share: float, *, day: date | None = None) -> float | None:
        """Seconds in the middle of the bucket, within 2.5 % of the value; None without values."""
        counts = Counter[int]()
        for buckets in [self.days.get(day, {})] if day else self.days.values():
            counts.update(buckets)
        position, passed = share * counts.total(), 0
        for bucket in sorted(counts):
            passed += counts[bucket]
            if passed >= position:
                return math.exp((bucket + 0.5) / BUCKETS)
        return None
