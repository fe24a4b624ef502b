"""Chunks of document versions."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _


class Chunk(models.Model):
    """An immutable passage of one version."""

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
    # when an owner wrote this text; stays when the edit is undone, for answers that cite the text
    edited = models.DateTimeField(_("edited"), null=True, blank=True, editable=False)

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

    @property
    def text_before_edit(self) -> str:
        """The text as its document has it; "" where nobody edited the passage, or the edit was undone since."""
        return self.edit.anchor_text if self.edited is not None and self.edit is not None else ""


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


class RepresentationRetry(models.Model):
    """A passage for which the model is asked again: rules wrote its summary or questions because it did not.

    The row goes with what the model writes later (`knowledge.services.representation_retries`), or stays with
    `given_up` where its answers were of no use MAX_ATTEMPTS times.
    """

    class Reason(models.TextChoices):
        UNAVAILABLE = "unavailable", _("The language model did not answer")
        INTERRUPTED = "interrupted", _("The answer was interrupted")
        INVALID = "invalid", _("The answer was not in the expected form")
        REJECTED = "rejected", _("The language model does not accept the passage")
        REFUSED = "refused", _("The answer did not pass the checks")

    chunk = models.OneToOneField(Chunk, primary_key=True, on_delete=models.CASCADE, related_name="representation_retry")
    version = models.ForeignKey(
        "knowledge.DocumentVersion", on_delete=models.CASCADE, related_name="representation_retries"
    )
    lacks_summary = models.BooleanField(default=False)  # of the model: rules wrote it, or for a section nobody
    lacks_questions = models.BooleanField(default=False)
    reason = models.CharField(_("reason"), max_length=16, choices=Reason.choices)
    created = models.DateTimeField(_("created"), auto_now_add=True)
    tried = models.DateTimeField(null=True, blank=True)  # when the model was last asked
    attempts = models.PositiveSmallIntegerField(default=0)  # answers of no use; what the checks refuse is no fault
    faults = models.PositiveSmallIntegerField(default=0)  # tries in a row without an answer
    not_before = models.DateTimeField(null=True, blank=True)  # back-off
    requested = models.DateTimeField(null=True, blank=True)  # an owner wants it at once
    given_up = models.DateTimeField(null=True, blank=True)  # it stays as rules wrote it

    class Meta:
        verbose_name = _("passage enriched by rules")
        verbose_name_plural = _("passages enriched by rules")
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(lacks_summary=True) | models.Q(lacks_questions=True),
                name="knowledge_retry_lacks_something",
            )
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["not_before", "chunk"], condition=models.Q(given_up=None), name="knowledge_retry_waiting"
            )
        ]

    def __str__(self) -> str:
        return f"{self.chunk_id} {self.reason}"
