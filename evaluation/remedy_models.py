"""What reviewers applied to mend answers, drafts of settings, and documents that are wanted."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class RemedyApplication(models.Model):
    """One remedy that was applied to a case. Rows stay when it is undone."""

    case = models.ForeignKey("feedback.BadCase", on_delete=models.CASCADE, related_name="remedies")
    kind = models.CharField(_("remedy"), max_length=24)  # code of evaluation.services.remedies
    values = models.JSONField(default=dict)  # as they were sent
    before = models.JSONField(default=dict)  # what undoing needs
    document = models.ForeignKey(
        "knowledge.Document", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )  # that it changed
    applied_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    applied = models.DateTimeField(_("applied"), auto_now_add=True)
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    undone = models.DateTimeField(_("undone"), null=True, blank=True)
    is_answered = models.BooleanField(null=True)  # at the last test after it; null: not tested
    tested = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("applied remedy")
        verbose_name_plural = _("applied remedies")
        ordering: ClassVar = ["-applied", "-pk"]

    def __str__(self) -> str:
        return f"{self.kind} {self.case_id}"


class OptionsDraft(models.Model):
    """Settings of a knowledge set that are not in force: tried with a question, then published or discarded."""

    class Group(models.TextChoices):
        RETRIEVAL = "retrieval", pgettext_lazy("group of a draft", "Searching")
        ANSWER = "answer", pgettext_lazy("group of a draft", "Answering")
        TEXTS = "texts", pgettext_lazy("group of a draft", "Prompts")  # fields of PROMPT_TEXTS

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("state of a draft", "Draft")
        PUBLISHED = "published", pgettext_lazy("state of a draft", "Published")
        DISCARDED = "discarded", pgettext_lazy("state of a draft", "Discarded")

    application = models.OneToOneField(RemedyApplication, on_delete=models.CASCADE, related_name="draft")
    knowledge_set = models.ForeignKey("knowledge.KnowledgeSet", on_delete=models.CASCADE, related_name="+")
    group = models.CharField(max_length=12, choices=Group.choices, default=Group.RETRIEVAL, db_default="retrieval")
    options = models.JSONField(default=dict)  # of the group: option -> value
    state = models.CharField(_("state"), max_length=12, choices=State.choices, default=State.OPEN)
    # {"now", "draft"}, each {"rank", "is_refused"} of a search or {"is_right", "status", "unsupported"} of an answer;
    # once published "before": the values of before
    figures = models.JSONField(default=dict, blank=True)
    published = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("draft of settings")
        verbose_name_plural = _("drafts of settings")
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return f"{self.knowledge_set_id} {self.options}"

    @property
    def tried(self) -> list[dict[str, Any]]:
        """Figures of today and of the draft, in this order; none where it was not tried."""
        return [self.figures[name] for name in ("now", "draft") if name in self.figures]


class WantedDocument(models.Model):
    """A document that owners of a knowledge set were asked for, because a question cannot be answered without it."""

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("state of a wanted document", "Wanted")
        ADDED = "added", pgettext_lazy("state of a wanted document", "Added")
        DECLINED = "declined", pgettext_lazy("state of a wanted document", "Declined")
        WITHDRAWN = "withdrawn", pgettext_lazy("state of a wanted document", "Request withdrawn")

    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet",
        on_delete=models.CASCADE,
        related_name="wanted_documents",
        verbose_name=_("knowledge set"),
    )
    case = models.ForeignKey(
        "feedback.BadCase", null=True, blank=True, on_delete=models.SET_NULL, related_name="wanted_documents"
    )
    text = models.TextField(_("what is missing"), max_length=1000)
    state = models.CharField(_("state"), max_length=12, choices=State.choices, default=State.OPEN)
    asked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("asked for by"),
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    closed = models.DateTimeField(_("closed"), null=True, blank=True)

    class Meta:
        verbose_name = _("wanted document")
        verbose_name_plural = _("wanted documents")
        ordering: ClassVar = ["-created", "-pk"]

    def __str__(self) -> str:
        return self.text[:80]
