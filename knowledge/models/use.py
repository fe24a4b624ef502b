"""What people did with the sources of answers, as numbers that searches may rank with."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField

QUESTION_DIMENSIONS = 768


class UseSummary(models.Model):
    """What the last night has learnt from the use of a set; counts only, no person and no question."""

    knowledge_set = models.OneToOneField(
        "knowledge.KnowledgeSet", primary_key=True, on_delete=models.CASCADE, related_name="use_summary"
    )
    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    model = models.CharField(max_length=160)  # of embeddings, by which questions are compared
    floor = models.FloatField(default=1.0)  # cosine from which questions are similar
    answers = models.PositiveIntegerField(default=0)  # with an act of somebody
    people = models.PositiveIntegerField(default=0)
    left_out = models.PositiveIntegerField(default=0)  # older answers beyond what is read
    is_enough = models.BooleanField(default=False)
    passages = models.PositiveIntegerField(default=0)  # with evidence
    average = models.FloatField(default=0.0)  # weighted opening of a source that was shown
    examination = models.JSONField(default=list)  # how often each place is looked at, the first one 1
    learnt = models.DateTimeField(_("last computed"), default=timezone.now)
    seconds = models.FloatField(default=0.0)

    class Meta:
        verbose_name = _("ranking from use")
        verbose_name_plural = _("ranking from use")

    def __str__(self) -> str:
        return str(self.knowledge_set_id)


class UseEvidence(models.Model):
    """What use says of a passage for questions near to a vector. Written anew every night.

    Rows go with their passage, their document and their set.
    """

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    knowledge_set = models.ForeignKey("knowledge.KnowledgeSet", on_delete=models.CASCADE, related_name="use_evidence")
    document = models.ForeignKey("knowledge.Document", on_delete=models.CASCADE, related_name="use_evidence")
    chunk = models.ForeignKey("knowledge.Chunk", on_delete=models.CASCADE, related_name="use_evidence", db_index=False)
    model = models.CharField(max_length=160)
    vector = HalfVectorField(dimensions=QUESTION_DIMENSIONS)
    value = models.FloatField()  # -1 to 1
    people = models.PositiveIntegerField()
    shown = models.PositiveIntegerField()
    opened = models.PositiveIntegerField()
    helpful = models.PositiveIntegerField()
    unhelpful = models.PositiveIntegerField()

    class Meta:
        verbose_name = _("evidence from use")
        verbose_name_plural = _("evidence from use")
        indexes: ClassVar = [models.Index(fields=["chunk", "knowledge_set"], name="knowledge_use_chunk")]

    def __str__(self) -> str:
        return f"{self.chunk_id} {self.value:.2f}"
