"""Experiments with the settings of a knowledge set, and the narrow rows that statistics are counted from."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _


class Experiment(models.Model):
    """Part of the questions to one knowledge set is answered with other settings, to compare both.

    The settings of the set stay what they are until the candidate is published.
    """

    class State(models.TextChoices):
        RUNNING = "running", _("Running")
        STOPPED = "stopped", _("Stopped")
        PUBLISHED = "published", _("Candidate published")
        ROLLED_BACK = "rolled_back", _("Rolled back")

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet", on_delete=models.CASCADE, related_name="+", verbose_name=_("knowledge set")
    )
    name = models.CharField(_("name"), max_length=100)
    options = models.JSONField(_("settings of the candidate"), default=dict)  # {"answer": {…}, "retrieval": {…}}
    before = models.JSONField(null=True, editable=False)  # options of the set when the candidate was published
    share = models.PositiveSmallIntegerField(_("share of people (%)"), default=50)  # 1 to 90
    state = models.CharField(_("state"), max_length=12, choices=State.choices, default=State.RUNNING)
    salt = models.UUIDField(default=uuid.uuid4, editable=False)  # with the person it says who gets the candidate
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    started = models.DateTimeField(_("started"), auto_now_add=True)
    ended = models.DateTimeField(_("ended"), null=True, blank=True)

    class Meta:
        verbose_name = _("experiment")
        verbose_name_plural = _("experiments")
        ordering: ClassVar = ["-started", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["knowledge_set"], condition=models.Q(state="running"), name="chat_experiment_one_running"
            )
        ]

    def __str__(self) -> str:
        return self.name


class TurnFigures(models.Model):
    """What statistics need of one question, in a narrow row: reading traces of 100,000 answers takes seconds."""

    class Arm(models.TextChoices):
        LIVE = "live", _("Current settings")
        CANDIDATE = "candidate", _("Candidate")

    message = models.OneToOneField("chat.Message", primary_key=True, on_delete=models.CASCADE, related_name="figures")
    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    asked = models.DateTimeField()
    status = models.CharField(max_length=16)  # of the answer, or the state of one without
    cache = models.CharField(max_length=8, default="none")
    seconds = models.FloatField(null=True)
    cost = models.FloatField(null=True)
    tokens = models.PositiveIntegerField(default=0)
    model = models.CharField(max_length=100, blank=True)
    supported = models.FloatField(null=True)  # share of checked sentences with support, a weak one counts half
    question_key = models.BigIntegerField()  # equal questions have the same
    sets = ArrayField(models.BigIntegerField(), default=list)  # asked in, or cited from
    experiment = models.ForeignKey(Experiment, null=True, on_delete=models.SET_NULL, related_name="turns")
    arm = models.CharField(max_length=9, choices=Arm.choices, blank=True)

    class Meta:
        verbose_name = _("usage")
        verbose_name_plural = _("usage")
        indexes: ClassVar = [
            models.Index(fields=["tenant", "asked"], name="chat_turn_figures_time"),
            models.Index(fields=["-asked"], name="chat_turn_figures_latest"),
        ]

    def __str__(self) -> str:
        return str(self.message_id)
