"""What a directory says of a person beside the fields of the person."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class DirectoryEntry(models.Model):
    """How a directory knows a person of a tenant. Somebody without an entry is found by name all the same."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="directory_entry", verbose_name=_("user")
    )
    external_id = models.CharField(max_length=255, blank=True)
    # part of the id: it grows where a removed person comes back, so that requests about the earlier entry miss
    generation = models.PositiveIntegerField(default=0)
    removed_at = models.DateTimeField(null=True)
    modified = models.DateTimeField()  # by the directory

    class Meta:
        verbose_name = _("entry of a directory")
        verbose_name_plural = _("entries of a directory")

    def __str__(self) -> str:
        return self.external_id or str(self.user_id)
