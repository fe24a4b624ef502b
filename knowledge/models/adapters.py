"""Fitted query vectors of a set: trainings, and the adapters that came of them."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from knowledge.models.trainings import PairTraining


class QueryAdapter(PairTraining):
    """One training of a set's query adapter, and what came of it; numbers are 1, 2, … in each set."""

    EMPTIED: ClassVar[dict[str, object]] = {"pairs": [], "checkpoint": None}

    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet", on_delete=models.CASCADE, related_name="query_adapters", verbose_name=_("set")
    )
    model = models.CharField(max_length=128)  # of embeddings, whose questions it changes
    origins = models.JSONField(default=list)  # of pairs that it is trained with
    # while it is trained; both are removed when it is over, because questions are people's words
    pairs = models.JSONField(default=list)
    checkpoint = models.BinaryField(null=True)
    weights = models.BinaryField(null=True)  # of the best round, as ragcore.embedding.query_adapter packs them

    class Meta:
        verbose_name = _("query adapter")
        verbose_name_plural = _("query adapters")
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["knowledge_set", "number"], name="knowledge_adapter_once"),
            models.UniqueConstraint(
                fields=["knowledge_set"], condition=models.Q(state="live"), name="knowledge_adapter_one_live"
            ),
            models.UniqueConstraint(
                fields=["knowledge_set"],
                condition=models.Q(state="building"),
                name="knowledge_adapter_one_training",
            ),
        ]
