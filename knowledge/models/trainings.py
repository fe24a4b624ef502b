"""What trainings that people start have in common: state, progress, the worker that holds them, and what came of it."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Training(models.Model):
    """One training and what came of it. Once it is over, what was learnt never changes."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Waiting")
        TRAINING = "training", _("Training")
        READY = "ready", _("Better, not in use")
        NO_GAIN = "no_gain", _("No gain, nothing changed")
        LIVE = "live", _("In use")
        RETIRED = "retired", _("Was in use")
        CANCELLED = "cancelled", _("Cancelled")
        FAILED = "failed", _("Failed")

    FENCE: ClassVar = "starts"
    OPEN: ClassVar = (State.QUEUED, State.TRAINING)
    USABLE: ClassVar = (State.READY, State.LIVE, State.RETIRED)
    weights: Any  # what was learnt; None: nothing yet, or nothing that could be used
    EMPTIED: ClassVar[dict[str, object]] = {"leased_until": None}  # what is not kept when it is over

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    number = models.PositiveIntegerField(_("number"))  # 1, 2, … of what they are trained for
    state = models.CharField(_("state"), max_length=16, choices=State.choices, default=State.QUEUED)
    round = models.PositiveIntegerField(default=0)
    rounds = models.PositiveIntegerField(default=0)
    curve = models.JSONField(default=list)  # {"round", …}; the first is before training
    best_round = models.PositiveIntegerField(default=0)
    figures = models.JSONField(default=dict)  # what it was trained with, dropped by reason, before and after
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.CharField(max_length=512, blank=True)
    error_data = models.JSONField(default=dict, blank=True)
    seconds = models.FloatField(default=0.0)  # of work
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("author")
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    starts = models.PositiveSmallIntegerField(default=0)  # how often a worker took it up
    slices = models.PositiveSmallIntegerField(default=0, db_default=0)  # starts that ended by themselves, for others
    leased_until = models.DateTimeField(null=True)  # by the worker that trains it
    finished = models.DateTimeField(null=True, blank=True)
    live_since = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

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
