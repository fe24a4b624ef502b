"""Where the sources of a tenant may read on the operator's machines and network."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import MAX_CLEARANCE, ClearanceLevel


class SourcePlace(models.Model):
    """A folder, or a host with a private address, that a platform administrator has given to a tenant.

    What the variables SOURCE_FOLDERS and FETCH_ALLOWED_HOSTS name belongs to the default tenant without a row here.
    """

    class Kind(models.TextChoices):
        FOLDER = "folder", _("Folder")
        HOST = "host", _("Host or network with private addresses")

    tenant = models.ForeignKey(
        "accounts.Tenant", on_delete=models.CASCADE, related_name="source_places", verbose_name=_("tenant")
    )
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices, default=Kind.FOLDER)
    location = models.CharField(
        _("location"),
        max_length=1024,
        help_text=_("Absolute path of a folder, including its subfolders; or a host name, an IP address or a network."),
    )
    clearance_floor = models.PositiveSmallIntegerField(
        _("minimum clearance"),
        choices=ClearanceLevel.choices,
        default=ClearanceLevel.PUBLIC,
        help_text=_("Documents from this folder never have a lower clearance."),
    )
    for_owners = models.BooleanField(
        _("usable by owners"),
        default=True,
        help_text=_("If off, only tenant administrators can create sources from it."),
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", editable=False
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("folder or private host")
        verbose_name_plural = _("folders and private hosts")
        ordering: ClassVar = ["tenant", "kind", "location"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "kind", "location"], name="knowledge_place_once"),
            models.CheckConstraint(
                condition=models.Q(clearance_floor__lte=MAX_CLEARANCE), name="knowledge_place_floor_in_range"
            ),
        ]

    def __str__(self) -> str:
        return self.location
