"""What owners changed in the passages of a document; it outlives re-ingestion."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _


class ChunkEdit(models.Model):
    """An owner's change of one passage. It is found again by its anchor, the text that it was made on."""

    class Kind(models.TextChoices):
        REPLACE = "replace", _("New text")
        DISABLE = "disable", _("Not to be found")
        QUESTIONS = "questions", _("Further questions")

    class State(models.TextChoices):
        APPLIED = "applied", _("Applied")
        LOST = "lost", _("Its passage is gone")

    document = models.ForeignKey("knowledge.Document", on_delete=models.CASCADE, related_name="chunk_edits")
    kind = models.CharField(_("kind"), max_length=16, choices=Kind.choices)
    anchor_text = models.TextField()  # of the passage as it was cut
    anchor_sha256 = models.CharField(max_length=64)
    text = models.TextField(_("text"), blank=True)  # REPLACE
    questions = ArrayField(models.CharField(max_length=512), default=list, blank=True)  # QUESTIONS
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.APPLIED)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("author")
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    updated = models.DateTimeField(_("updated"), auto_now=True)

    class Meta:
        verbose_name = _("edit of a passage")
        verbose_name_plural = _("edits of passages")
        ordering: ClassVar = ["-updated", "-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["document", "anchor_sha256", "kind"], name="knowledge_edit_once")
        ]

    def __str__(self) -> str:
        return f"{self.document_id} {self.kind}"
