"""Requests for access to a knowledge set."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _


class AccessRequest(models.Model):
    """Somebody asks to become a member of a set; an owner decides."""

    class State(models.TextChoices):
        OPEN = "open", _("Pending")
        APPROVED = "approved", _("Approved")
        DECLINED = "declined", _("Declined")
        WITHDRAWN = "withdrawn", _("Withdrawn")

    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet",
        on_delete=models.CASCADE,
        related_name="access_requests",
        verbose_name=_("knowledge set"),
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="access_requests", verbose_name=_("user")
    )
    reason = models.CharField(_("reason"), max_length=1000, blank=True)
    state = models.CharField(_("state"), max_length=16, choices=State.choices, default=State.OPEN)
    created = models.DateTimeField(_("created"), auto_now_add=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("decided by"),
    )
    decided = models.DateTimeField(_("decided"), null=True, blank=True)
    answer = models.CharField(_("answer"), max_length=1000, blank=True)

    class Meta:
        verbose_name = _("request for access")
        verbose_name_plural = _("requests for access")
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["knowledge_set", "user"], condition=models.Q(state="open"), name="knowledge_one_open_request"
            )
        ]

    def __str__(self) -> str:
        return f"#{self.pk}"
