"""Fitted query vectors of a set: trainings, and the adapters that came of them (D6, D7)."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class QueryAdapter(models.Model):
    """One training of a set's query adapter, and what came of it. Once it is over, its weights never change."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Waiting")
        TRAINING = "training", _("Training")
        READY = "ready", _("Better, not in use")
        NO_GAIN = "no_gain", _("No gain, nothing changed")
        LIVE = "live", _("In use")
        RETIRED = "retired", _("Was in use")
        CANCELLED = "cancelled", _("Cancelled")
        FAILED = "failed", _("Failed")

    OPEN: ClassVar = (State.QUEUED, State.TRAINING)
    USABLE: ClassVar = (State.READY, State.LIVE, State.RETIRED)

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet", on_delete=models.CASCADE, related_name="query_adapters", verbose_name=_("set")
    )
    number = models.PositiveIntegerField(_("number"))  # 1, 2, … in each set
    state = models.CharField(_("state"), max_length=16, choices=State.choices, default=State.QUEUED)
    model = models.CharField(max_length=128)  # of embeddings, whose questions it changes
    origins = models.JSONField(default=list)  # of pairs that it is trained with
    # while it is trained; both are removed when it is over, because questions are people's words
    pairs = models.JSONField(default=list)
    checkpoint = models.BinaryField(null=True)
    round = models.PositiveIntegerField(default=0)
    rounds = models.PositiveIntegerField(default=0)
    curve = models.JSONField(default=list)  # {"round", "loss", "recall", "ndcg"}; the first is before training
    best_round = models.PositiveIntegerField(default=0)
    weights = models.BinaryField(null=True)  # of the best round, as ragcore.embedding.query_adapter packs them
    figures = models.JSONField(default=dict)  # pairs by origin, dropped by reason, before and after
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.CharField(max_length=512, blank=True)
    error_data = models.JSONField(default=dict, blank=True)
    seconds = models.FloatField(default=0.0)  # of work
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("author")
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    starts = models.PositiveSmallIntegerField(default=0)  # how often a worker took it up
    leased_until = models.DateTimeField(null=True)  # by the worker that trains it
    finished = models.DateTimeField(null=True, blank=True)
    live_since = models.DateTimeField(null=True, blank=True)

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
                condition=models.Q(state__in=("queued", "training")),
                name="knowledge_adapter_one_training",
            ),
        ]

    def __str__(self) -> str:
        return str(self.number)

    @property
    def is_open(self) -> bool:
        """Whether it is still being trained."""
        return self.state in self.OPEN

    @property
    def is_usable(self) -> bool:
        """Whether it can be switched on."""
        return self.state in self.USABLE and self.weights is not None
