"""What runs of a source remember: items that could not be taken, and deletions that wait for a decision."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _


class ItemFault(models.Model):
    """An item of a source that could not be taken the last time. The row goes once it is taken, or gone there."""

    source = models.ForeignKey("knowledge.Source", on_delete=models.CASCADE, related_name="item_faults")
    external_id = models.CharField(max_length=1024)
    error = models.JSONField(default=dict)  # as knowledge.services.sources.sync_runs.stored_error gives it
    is_passing = models.BooleanField(default=False)  # another try may help
    tries = models.PositiveIntegerField(default=1)  # runs in a row
    at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = _("item that was not taken")
        verbose_name_plural = _("items that were not taken")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["source", "external_id"], name="knowledge_item_fault_once")
        ]

    def __str__(self) -> str:
        return self.external_id


class DeletionHold(models.Model):
    """Documents that a source does not list any more, too many to delete them without a word of a person."""

    source = models.OneToOneField("knowledge.Source", on_delete=models.CASCADE, related_name="hold")
    documents = ArrayField(models.BigIntegerField(), default=list)  # that wait for a decision
    spared = ArrayField(models.BigIntegerField(), default=list)  # that are to stay although the source lost them
    total = models.PositiveIntegerField(default=0)  # documents of the source then
    since = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("deletions that wait")
        verbose_name_plural = _("deletions that wait")

    def __str__(self) -> str:
        return str(self.source_id)
