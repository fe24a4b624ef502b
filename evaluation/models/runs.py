"""Results of running a golden set."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _


class EvaluationRun(models.Model):
    """Figures of one run with one configuration."""

    golden_set = models.ForeignKey(
        "evaluation.GoldenSet", on_delete=models.CASCADE, related_name="runs", verbose_name=_("golden set")
    )
    options = models.JSONField(_("options"), default=dict)
    options_sha256 = models.CharField(max_length=64)
    figures = models.JSONField(_("figures"), default=dict)  # metric -> value in 0..1 or milliseconds
    cases = models.JSONField(default=list)  # per case: id, recall, ndcg, contains, milliseconds
    started = models.DateTimeField(_("started"), auto_now_add=True)
    finished = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        verbose_name = _("evaluation run")
        verbose_name_plural = _("evaluation runs")
        ordering: ClassVar = ["-started"]

    def __str__(self) -> str:
        return f"{self.golden_set} {self.started:%Y-%m-%d %H:%M}"
