"""Who did what to whose access."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class AuditEvent(models.Model):
    """One recorded act; rows are added, never changed."""

    at = models.DateTimeField(_("at"), auto_now_add=True, db_index=True)
    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("actor")
    )
    action = models.CharField(_("action"), max_length=64)
    target = models.CharField(_("target"), max_length=256, blank=True)
    data = models.JSONField(_("details"), default=dict, blank=True)

    class Meta:
        verbose_name = _("audit event")
        verbose_name_plural = _("audit log")
        ordering: ClassVar = ["-at"]

    def __str__(self) -> str:
        return f"{self.action} {self.target}"
