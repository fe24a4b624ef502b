"""Answers that were voted down, as work for reviewers."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class BadCase(models.Model):
    """One answer that somebody was not happy with, until a reviewer closes it."""

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("state of a case", "Open")
        IN_WORK = "in_work", _("In work")
        CLOSED = "closed", _("Closed")

    message = models.OneToOneField("chat.Message", on_delete=models.CASCADE, related_name="bad_case")
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.OPEN)
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="bad_cases",
        verbose_name=_("reviewer"),
    )
    note = models.TextField(_("note of the reviewer"), blank=True)
    created = models.DateTimeField(_("created"), auto_now_add=True)
    closed = models.DateTimeField(_("closed"), null=True, blank=True)

    class Meta:
        verbose_name = _("case")
        verbose_name_plural = _("cases")
        ordering: ClassVar = ["-created"]
        indexes: ClassVar = [models.Index(fields=["state", "-created"], name="feedback_case_state")]

    def __str__(self) -> str:
        return str(self.message)
