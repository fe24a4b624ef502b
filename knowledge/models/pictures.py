"""Pictures inside documents (D26)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _


def picture_path(picture: DocumentPicture, name: str) -> str:
    """Beside the originals of the tenant, by version."""
    return f"{picture.version.document.tenant_id}/pictures/{picture.version_id}/{name}"


class DocumentPicture(models.Model):
    """A picture that the text of a version shows as `![…](picture:NAME)`."""

    version = models.ForeignKey("knowledge.DocumentVersion", on_delete=models.CASCADE, related_name="pictures")
    name = models.CharField(max_length=128)
    media_type = models.CharField(max_length=32)
    file = models.FileField(upload_to=picture_path, max_length=256)
    page = models.PositiveIntegerField(_("page"), null=True, blank=True)
    alt = models.CharField(max_length=512, blank=True)

    class Meta:
        verbose_name = _("picture")
        verbose_name_plural = _("pictures")
        ordering: ClassVar = ["version", "id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["version", "name"], name="knowledge_picture_once")]

    def __str__(self) -> str:
        return self.name
