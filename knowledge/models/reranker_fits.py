"""Weights of the linear reranker that were fitted for a tenant."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from knowledge.models.trainings import Training


class RerankerFit(Training):
    """One fit of a tenant's weights to its golden cases and its people's use; numbers are 1, 2, … in each tenant.

    The curve has a point for each distance from the packaged weights, of which `best_round` is kept.
    """

    EMPTIED: ClassVar[dict[str, object]] = {"checkpoint": None}

    golden_sets = models.JSONField(default=list)  # ids of those that it learns from
    learns_from_use = models.BooleanField(default=False, db_default=False)  # also from votes and opened sources
    # while it is fitted: questions and lists so far; removed when it is over, because questions are people's words
    checkpoint = models.BinaryField(null=True)
    features = models.JSONField(default=list)  # names, in the order of the weights
    weights = models.JSONField(null=True)  # as ragcore.reranking.linear has them

    class Meta:
        verbose_name = _("fitted reranker weights")
        verbose_name_plural = _("fitted reranker weights")
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "number"], name="knowledge_fit_once"),
            models.UniqueConstraint(fields=["tenant"], condition=models.Q(state="live"), name="knowledge_fit_one_live"),
            models.UniqueConstraint(
                fields=["tenant"],
                condition=models.Q(state="building"),
                name="knowledge_fit_one_training",
            ),
        ]
