"""Answers that a reviewer has approved for a question, with their sources."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class ApprovedAnswer(models.Model):
    """The answer that people get to a question and its paraphrases, as long as its sources stay as they were."""

    class Withdrawal(models.TextChoices):
        BY_HAND = "by_hand", pgettext_lazy("why an approved answer is withdrawn", "Withdrawn by a person")
        SOURCE = "source", pgettext_lazy("why an approved answer is withdrawn", "A source has changed or was deleted")
        EXPIRED = "expired", pgettext_lazy("why an approved answer is withdrawn", "Expired")

    tenant = models.ForeignKey(
        "accounts.Tenant", on_delete=models.CASCADE, related_name="approved_answers", verbose_name=_("tenant")
    )
    question = models.TextField(_("question"))
    paraphrases = ArrayField(models.TextField(), default=list, blank=True, verbose_name=_("also asked as"))
    # what question and paraphrases ask, as chat.answering.approved.question_key writes it
    keys = ArrayField(models.CharField(max_length=64), default=list)
    answer = models.TextField(_("answer"))  # Markdown with [n] markers
    source_count = models.PositiveSmallIntegerField(default=0)  # with fewer sources left it is not shown any more
    message = models.ForeignKey("chat.Message", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("approved by"),
    )  # its owner: told when it is withdrawn
    created = models.DateTimeField(_("approved"), auto_now_add=True)
    expires = models.DateTimeField(_("expires"))
    withdrawn = models.DateTimeField(_("withdrawn"), null=True, blank=True)
    withdrawal = models.CharField(_("reason"), max_length=8, choices=Withdrawal.choices, blank=True)
    used = models.PositiveIntegerField(_("used"), default=0)
    last_used = models.DateTimeField(_("last used"), null=True, blank=True)

    class Meta:
        verbose_name = _("approved answer")
        verbose_name_plural = _("approved answers")
        ordering: ClassVar = ["-created", "-pk"]
        indexes: ClassVar = [
            GinIndex(fields=["keys"], condition=models.Q(withdrawn=None), name="chat_approved_keys", fastupdate=False)
        ]

    def __str__(self) -> str:
        return self.question[:80]


class ApprovedSource(models.Model):
    """A passage that an approved answer rests on. It goes with its document; the answer is withdrawn then."""

    answer = models.ForeignKey(ApprovedAnswer, on_delete=models.CASCADE, related_name="sources")
    number = models.PositiveSmallIntegerField()
    chunk = models.ForeignKey("knowledge.Chunk", on_delete=models.CASCADE, related_name="+")
    version = models.ForeignKey("knowledge.DocumentVersion", on_delete=models.CASCADE, related_name="+")
    document = models.ForeignKey("knowledge.Document", on_delete=models.CASCADE, related_name="+")

    class Meta:
        ordering: ClassVar = ["answer", "number"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["answer", "number"], name="chat_approved_source_once")]

    def __str__(self) -> str:
        return f"[{self.number}]"
