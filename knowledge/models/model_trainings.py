"""Whole embedding models that were trained with pairs of a set."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from knowledge.models.trainings import PairTraining


class ModelTraining(PairTraining):
    """One training of all weights of an embedding model, and what came of it; numbers are 1, 2, … in each set.

    It is first prepared: its pairs are collected, and a few steps say how long it takes. A person who has seen that
    confirms it. What finds more becomes a search model, which people switch to like to every other one, so a version
    stays "ready". The curve has the loss of each epoch.
    """

    EMPTIED: ClassVar[dict[str, object]] = {"pairs": [], "checkpoint": None}

    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet", on_delete=models.CASCADE, related_name="model_trainings", verbose_name=_("set")
    )
    model = models.CharField(max_length=512)  # that it begins with: a folder, or "packaged"
    plan = models.JSONField(default=dict)  # prefixes and settings, as ragcore.training.whole_model.plan has them
    origins = models.JSONField(default=list)  # of pairs that it is trained with
    confirmed = models.DateTimeField(null=True)
    # while it is prepared; both are removed when it is over, because questions are people's words
    pairs = models.JSONField(default=list)
    checkpoint = models.BinaryField(null=True)
    weights = models.CharField(max_length=512, null=True)  # noqa: DJ001 -- the folder; None: nothing that could be used
    search_model = models.ForeignKey("knowledge.SearchModel", null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        verbose_name = _("trained embedding model")
        verbose_name_plural = _("trained embedding models")
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["knowledge_set", "number"], name="knowledge_model_training_once"),
            models.UniqueConstraint(
                fields=["knowledge_set"],
                condition=models.Q(state="building"),
                name="knowledge_model_training_one",
            ),
        ]
