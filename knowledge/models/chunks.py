"""Chunks of document versions."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _


class Chunk(models.Model):
    """An immutable passage of one version (D11)."""

    class Kind(models.TextChoices):
        BODY = "body", _("Text")
        SECTION = "section", _("Section")
        SUMMARY = "summary", _("Summary")
        WHOLE = "whole", _("Whole document")

    version = models.ForeignKey("knowledge.DocumentVersion", on_delete=models.CASCADE, related_name="chunks")
    ordinal = models.PositiveIntegerField(_("position"))
    kind = models.CharField(_("kind"), max_length=16, choices=Kind.choices, default=Kind.BODY)
    text = models.TextField(_("text"))
    heading_path = ArrayField(models.CharField(max_length=512), default=list, blank=True)
    parent = models.ForeignKey("self", null=True, blank=True, on_delete=models.CASCADE, related_name="children")
    is_continuation = models.BooleanField(default=False)
    page = models.PositiveIntegerField(_("page"), null=True, blank=True)
    boxes = models.JSONField(default=list, blank=True)  # [[page, x0, y0, x1, y1], …] in points from the top left
    tokens = models.PositiveIntegerField(_("tokens"))
    # superseded or disabled by an owner since then: kept for citations, found by no search
    retired = models.DateTimeField(null=True, blank=True)
    edit = models.ForeignKey(  # this text is an owner's; the one that it supersedes has the same ordinal
        "knowledge.ChunkEdit", null=True, blank=True, on_delete=models.SET_NULL, related_name="chunks"
    )

    class Meta:
        verbose_name = _("passage")
        verbose_name_plural = _("passages")
        ordering: ClassVar = ["version", "ordinal"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["version", "ordinal"],
                condition=models.Q(retired=None),
                name="knowledge_chunk_ordinal_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.version_id}/{self.ordinal}"


class ChunkEdit(models.Model):
    """An owner's change of one passage. It is found again by its anchor, the text that it was made on."""

    class Kind(models.TextChoices):
        REPLACE = "replace", _("New text")
        DISABLE = "disable", _("Excluded from search")
        QUESTIONS = "questions", _("Additional questions")

    class State(models.TextChoices):
        APPLIED = "applied", _("Applied")
        LOST = "lost", _("Passage no longer exists")

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
        verbose_name = _("passage edit")
        verbose_name_plural = _("passage edits")
        ordering: ClassVar = ["-updated", "-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["document", "anchor_sha256", "kind"], name="knowledge_edit_once")
        ]

    def __str__(self) -> str:
        return f"{self.document_id} {self.kind}"
