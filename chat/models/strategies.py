"""How each strategy has done, by day (V9)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _


class StrategyStatistics(models.Model):
    """Sums over the answers of one tenant that one strategy has given on one day (UTC)."""

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    strategy = models.CharField(_("strategy"), max_length=32)
    day = models.DateField(_("day"))
    answers = models.PositiveIntegerField(_("answers"), default=0)
    total_seconds = models.FloatField(default=0)
    confidence_sum = models.FloatField(default=0)
    refused = models.PositiveIntegerField(_("refused"), default=0)
    degraded = models.PositiveIntegerField(_("without the language model"), default=0)

    class Meta:
        verbose_name = _("figures of a strategy")
        verbose_name_plural = _("figures of strategies")
        ordering: ClassVar = ["-day", "strategy"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "strategy", "day"], name="chat_strategy_day_once")
        ]

    def __str__(self) -> str:
        return f"{self.strategy} {self.day}"
