"""Who changed which options, and what they were before (V14)."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class OptionsChange(models.Model):
    """One change of the options of a set, or of a site (no set). Rows are added, never changed."""

    class Kind(models.TextChoices):
        EDIT = "edit", _("Edited")
        IMPORT = "import", _("Imported")
        UNDO = "undo", _("Taken back")

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet",
        null=True,
        on_delete=models.CASCADE,
        related_name="options_changes",
        verbose_name=_("knowledge set"),
    )
    at = models.DateTimeField(_("at"), auto_now_add=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("actor")
    )
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices, default=Kind.EDIT)
    note = models.CharField(_("note"), max_length=256, blank=True)
    before = models.JSONField(_("before"), default=dict)  # own options by group, as in KnowledgeSet.options
    after = models.JSONField(_("after"), default=dict)

    class Meta:
        verbose_name = _("change of options")
        verbose_name_plural = _("changes of options")
        ordering: ClassVar = ["-pk"]
        indexes: ClassVar = [models.Index(fields=["tenant", "knowledge_set", "-id"], name="knowledge_options_changes")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} #{self.pk}"
