"""How documents stand to each other: editions, parts, and the documents of one feature."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from knowledge import relation_kinds


class DocumentRelation(models.Model):
    """One document says how it stands to another. Rules and connectors name the other one by a key of it.

    Without a target nothing with that key has arrived yet. A statement that several documents answer has one row each.
    """

    class Origin(models.TextChoices):
        RULE = "rule", _("Rule of the source")
        CONNECTOR = "connector", _("Source system")
        HAND = "hand", _("Set by hand")

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(_("kind"), max_length=16, choices=relation_kinds.CHOICES)
    source = models.ForeignKey("knowledge.Document", on_delete=models.CASCADE, related_name="relations")
    target = models.ForeignKey(
        "knowledge.Document", null=True, blank=True, on_delete=models.CASCADE, related_name="relations_back"
    )
    # by what rules and connectors name the target, see knowledge.services.relations.keys; "": it was chosen by hand
    target_key = models.CharField(max_length=640, blank=True)
    origin = models.CharField(_("origin"), max_length=16, choices=Origin.choices)
    dismissed = models.BooleanField(default=False, db_default=False)  # a keeper has taken out what a rule says
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("relation of documents")
        verbose_name_plural = _("relations of documents")
        ordering: ClassVar = ["kind", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["source", "kind", "target", "origin", "target_key"],
                condition=Q(target__isnull=False),
                name="knowledge_relation_once",
            ),
            models.UniqueConstraint(
                fields=["source", "kind", "origin", "target_key"],
                condition=Q(target__isnull=True),
                name="knowledge_relation_waits_once",
            ),
            models.CheckConstraint(
                condition=Q(target__isnull=True) | ~Q(source=F("target")), name="knowledge_relation_of_two"
            ),
            models.CheckConstraint(
                condition=Q(target__isnull=False) | ~Q(target_key=""), name="knowledge_relation_names_target"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "target_key"], condition=~Q(target_key=""), name="knowledge_relation_key"),
            models.Index(
                fields=["tenant"],
                condition=Q(kind="replaces", target__isnull=False, dismissed=False),
                name="knowledge_relation_editions",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source_id} {self.kind} {self.target_id or self.target_key}"
