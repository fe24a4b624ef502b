"""Where documents come from (D12)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _


class Source(models.Model):
    """A system or folder whose external ids are unique within it."""

    class Kind(models.TextChoices):
        UPLOAD = "upload", _("Uploads")
        FOLDER = "folder", _("Folder")
        API = "api", _("API")

    tenant = models.ForeignKey(
        "accounts.Tenant", on_delete=models.CASCADE, related_name="sources", verbose_name=_("tenant")
    )
    name = models.CharField(_("name"), max_length=128)
    kind = models.CharField(_("kind"), max_length=16, choices=Kind.choices, default=Kind.UPLOAD)
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("source")
        verbose_name_plural = _("sources")
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "name"], name="knowledge_source_name_once_a_tenant")
        ]

    def __str__(self) -> str:
        return self.name
