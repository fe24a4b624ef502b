"""Who alone may read a document, where it says so."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils.translation import gettext_lazy as _


class ReaderList(models.Model):
    """People and groups of a tenant who alone may read the documents that refer to this list.

    A list narrows what sets and clearance give, and never gives anything itself. It is kept by its content, so that
    documents with the same readers share one row; a document may refer to two: its source's and its keepers'.
    Ids are never used twice: those of people and groups who are gone name nobody.
    """

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    key = models.CharField(max_length=64, editable=False)  # SHA-256 of what it was made of
    users = ArrayField(models.BigIntegerField(), default=list, blank=True)
    groups = ArrayField(models.BigIntegerField(), default=list, blank=True)
    unknown = ArrayField(models.TextField(), default=list, blank=True)  # names that name nobody: nobody reads by them
    source = models.ForeignKey(
        "knowledge.Source", null=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )  # whose connector gave `names`, which its table and the directory map anew with each run
    names = ArrayField(models.TextField(), default=list, blank=True, db_default=[])

    class Meta:
        verbose_name = _("list of readers")
        verbose_name_plural = _("lists of readers")
        constraints: ClassVar = [models.UniqueConstraint(fields=["tenant", "key"], name="knowledge_readers_once")]
        indexes: ClassVar = [
            GinIndex(fields=["users"], name="knowledge_readers_users", fastupdate=False),
            GinIndex(fields=["groups"], name="knowledge_readers_groups", fastupdate=False),
        ]

    def __str__(self) -> str:
        return f"#{self.pk}"
