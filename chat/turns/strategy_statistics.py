"""Daily statistics by strategy: answers, mean time, mean confidence."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import F, QuerySet, Sum
from django.utils import timezone

from accounts.scope import Scope
from chat.models import StrategyStatistics
from chat.types import AnswerRecord
from ragcore.extractive.generator import ExtractiveGenerator

logger = logging.getLogger(__name__)

PERIODS = (1, 7, 30)  # days


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyFigures:
    """One strategy over a period; means over its answers, shares 0 to 1."""

    strategy: str
    answers: int
    mean_seconds: float
    mean_confidence: float
    refused_share: float
    degraded_share: float


def strategy_record(
    *,
    tenant_id: int,
    strategy: str,
    seconds: float,
    confidence: float | None,
    status: str,
    is_quoted: bool = False,
) -> None:
    """Add one answer to the figures of its strategy and day.

    Any number of processes may do so at once: the sums are added to by the database, and a first answer of the day
    that comes twice creates one row. `status`: see docs/api-questions.md; a page of search results
    counts as refused. `is_quoted`: the text was compiled from the sources, because there is no language model or it
    failed.
    """
    day = timezone.now().date()
    key = {"tenant_id": tenant_id, "strategy": strategy[:32], "day": day}
    added = {
        "answers": 1,
        "total_seconds": max(0.0, seconds),
        "confidence_sum": min(1.0, max(0.0, confidence or 0.0)),
        "refused": int(status in ("refused", "search_results")),
        "degraded": int(is_quoted or status == "degraded"),
    }
    sums = {name: F(name) + value for name, value in added.items()}
    if not StrategyStatistics.objects.filter(**key).update(**sums):
        StrategyStatistics.objects.bulk_create([StrategyStatistics(**key)], ignore_conflicts=True)
        StrategyStatistics.objects.filter(**key).update(**sums)


def strategy_count(*, tenant_id: int, record: AnswerRecord) -> None:
    """Add a stored answer to the figures of its strategy; one from the cache is not counted
    again, nor is what was stopped before there was an answer.

    Figures are never worth an answer: where the database refuses them it is logged, and a transaction around this one
    goes on.
    """
    metadata = record.metadata
    if not metadata.strategy or metadata.cache != "none" or record.status == "stopped":
        return
    try:
        with transaction.atomic():
            strategy_record(
                tenant_id=tenant_id,
                strategy=metadata.strategy,
                seconds=metadata.total_time,
                confidence=record.confidence,
                status=record.status,
                is_quoted=metadata.model == ExtractiveGenerator.name,
            )
    except DatabaseError:
        logger.exception("an answer is missing in the figures of its strategy")


def strategy_figures(*, scope: Scope, days: int, today: date | None = None) -> list[StrategyFigures]:
    """The figures of the last `days` days, today among them, the most used strategy first.

    Of the viewer's own tenant; of all tenants for those who administer everything.
    """
    today = today or timezone.now().date()
    rows: QuerySet[StrategyStatistics] = StrategyStatistics.objects.filter(day__gt=today - timedelta(days=days))
    if scope.administers != "everything":
        rows = rows.filter(tenant_id=scope.tenant_id)
    names = ("answers", "total_seconds", "confidence_sum", "refused", "degraded")
    summed: Any = rows.order_by().values("strategy").annotate(**{f"{name}_all": Sum(name) for name in names})
    figures_of_strategies = [_figures(row) for row in summed if row["answers_all"]]
    return sorted(figures_of_strategies, key=lambda figures: (-figures.answers, figures.strategy))


def _figures(row: Mapping[str, Any]) -> StrategyFigures:
    answers = int(row["answers_all"])
    return StrategyFigures(
        strategy=str(row["strategy"]),
        answers=answers,
        mean_seconds=row["total_seconds_all"] / answers,
        mean_confidence=row["confidence_sum_all"] / answers,
        refused_share=row["refused_all"] / answers,
        degraded_share=row["degraded_all"] / answers,
    )
