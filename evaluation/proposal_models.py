"""Golden cases that were made from documents and wait for somebody's decision."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class ProposedCase(models.Model):
    """A question with its expected answer, made from one passage. It counts for nothing until it is accepted."""

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("state of a proposed golden case", "Open")
        ACCEPTED = "accepted", pgettext_lazy("state of a proposed golden case", "Accepted")
        REJECTED = "rejected", pgettext_lazy("state of a proposed golden case", "Rejected")

    class Origin(models.TextChoices):
        DEFINITION = "definition", pgettext_lazy("origin of a proposed golden case", "Definition")
        TABLE = "table", pgettext_lazy("origin of a proposed golden case", "Table")
        HEADING = "heading", pgettext_lazy("origin of a proposed golden case", "Heading")
        MODEL = "model", pgettext_lazy("origin of a proposed golden case", "Language model")

    golden_set = models.ForeignKey("evaluation.GoldenSet", on_delete=models.CASCADE, related_name="proposals")
    document = models.ForeignKey("knowledge.Document", on_delete=models.CASCADE, related_name="+")
    ordinal = models.PositiveIntegerField()  # of the passage in its version
    question = models.TextField(_("question"))
    answers = ArrayField(models.TextField(), default=list)
    key_points = ArrayField(models.TextField(), default=list)
    quotation = models.TextField()  # of the passage
    origin = models.CharField(max_length=16, choices=Origin.choices)
    styles = models.JSONField(default=dict)  # style -> the question in that phrasing
    state = models.CharField(_("state"), max_length=16, choices=State.choices, default=State.OPEN)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["golden_set", "question"], name="evaluation_proposed_case_once")
        ]

    def __str__(self) -> str:
        return self.question[:80]
