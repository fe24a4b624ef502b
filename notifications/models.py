"""What people are told: one row for each person and event."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class Notification(models.Model):
    """An event in the inbox of one person; the words are made from `kind` and `data` when it is read."""

    FENCE: ClassVar = "attempt"

    recipient = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications", verbose_name=_("recipient")
    )
    kind = models.CharField(_("kind"), max_length=64)  # of notifications.kinds
    data = models.JSONField(_("details"), default=dict)  # placeholders of the sentence of the kind
    link = models.CharField(_("link"), max_length=256, blank=True)  # a path of this site
    created = models.DateTimeField(_("created"), auto_now_add=True)
    read = models.DateTimeField(_("read"), null=True, blank=True)
    mailed = models.DateTimeField(_("mailed"), null=True, blank=True)
    attempt = models.PositiveIntegerField(default=0, db_default=0, editable=False)  # of workers to mail it
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)  # of the worker that mails it

    class Meta:
        verbose_name = _("notification")
        verbose_name_plural = _("notifications")
        ordering: ClassVar = ["-pk"]
        indexes: ClassVar = [
            models.Index(fields=["recipient", "-id"], name="notifications_of_a_person"),
            models.Index(fields=["recipient"], condition=models.Q(read=None), name="notifications_unread"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} #{self.pk}"
