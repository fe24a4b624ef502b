"""Votes, signals, bad cases."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class Vote(models.Model):
    """One person's judgement of one answer; what is not said again stays."""

    class Direction(models.TextChoices):
        UP = "up", _("Helpful")
        DOWN = "down", _("Not helpful")

    class Reason(models.TextChoices):
        WRONG = "wrong", _("The answer is wrong")
        INCOMPLETE = "incomplete", _("Something is missing")
        BAD_SOURCE = "bad_source", _("The sources are not relevant")
        NOT_FOUND = "not_found", _("It is in the documents but was not found")
        OUTDATED = "outdated", _("Outdated")
        UNCLEAR = "unclear", _("Hard to understand")
        OTHER = "other", _("Something else")

    message = models.ForeignKey("chat.Message", on_delete=models.CASCADE, related_name="votes")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="votes")
    vote = models.CharField(_("vote"), max_length=4, choices=Direction.choices)
    rating = models.PositiveSmallIntegerField(
        _("rating"), null=True, blank=True, validators=[MinValueValidator(1), MaxValueValidator(5)]
    )
    reasons = ArrayField(
        models.CharField(max_length=16, choices=Reason.choices), default=list, blank=True, verbose_name=_("reasons")
    )
    comment = models.TextField(_("comment"), blank=True, max_length=2000)
    features = models.JSONField(default=dict, blank=True)  # see feedback.features
    created = models.DateTimeField(_("created"), auto_now_add=True)
    updated = models.DateTimeField(_("updated"), auto_now=True)

    class Meta:
        verbose_name = _("vote")
        verbose_name_plural = _("votes")
        ordering: ClassVar = ["-created"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["message", "user"], name="feedback_vote_once_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.vote} {self.message_id}"


class Signal(models.Model):
    """Something a reader did that says how good the answer was."""

    class Kind(models.TextChoices):
        COPY = "copy", _("Copied")
        CITATION_CLICK = "citation_click", _("Opened a source")
        REWORD = "reword", _("Rephrased the question")
        STOP = "stop", _("Stopped the answer")
        DWELL = "dwell", _("Reading time")  # seconds
        WRONG_SOURCE = "wrong_source", _("Reported a wrong source")  # number of the citation

    message = models.ForeignKey("chat.Message", on_delete=models.CASCADE, related_name="signals")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(_("kind"), max_length=16, choices=Kind.choices)
    value = models.JSONField(_("value"), null=True, blank=True)
    features = models.JSONField(default=dict, blank=True)  # see feedback.features
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("signal")
        verbose_name_plural = _("signals")
        ordering: ClassVar = ["-created"]

    def __str__(self) -> str:
        return f"{self.kind} {self.message_id}"


class BadCase(models.Model):
    """One answer that somebody was not happy with, until a reviewer closes it."""

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("state of a case", "Open")
        IN_WORK = "in_work", _("In progress")
        CLOSED = "closed", _("Closed")

    class Origin(models.TextChoices):
        VOTE = "vote", _("User feedback")
        REWORD = "reword", _("Rephrased the question")
        STOP = "stop", _("Stopped the answer")
        UNSUPPORTED = "unsupported", _("Sentences without support")
        REFUSAL = "refusal", _("Refused although a title matched")

    class Resolution(models.TextChoices):
        """What a reviewer found. The two about refusals say what the right answer is: none."""

        FIXED = "fixed", _("Fixed")
        RIGHTLY_REFUSED = "right_refusal", _("Rightly refused")
        SHOULD_REFUSE = "should_refuse", _("Should have been refused")
        NO_FAULT = "no_fault", _("The answer is right")
        OTHER = "other", pgettext_lazy("resolution of a case", "Other")

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
    note = models.TextField(_("reviewer note"), blank=True)
    resolution = models.CharField(
        _("resolution"), max_length=16, choices=Resolution.choices, blank=True, default="", db_default=""
    )
    origin = models.CharField(_("opened by"), max_length=12, choices=Origin.choices, default=Origin.VOTE)
    features = models.JSONField(default=dict, blank=True)  # see feedback.features
    marked_document = models.ForeignKey(
        "knowledge.Document", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )  # that holds the right answer, as a reviewer has marked it
    was_marked = models.BooleanField(default=False, db_default=False)  # stays when the document is purged
    marked_ordinal = models.PositiveIntegerField(null=True, blank=True)  # of the passage in it, 0-based
    right_answer = models.TextField(_("right answer"), blank=True, max_length=4000)
    accepted = ArrayField(models.TextField(), default=list, blank=True)  # strings, one of which a right answer has
    fix = models.CharField(_("fix"), max_length=500, blank=True)  # what was changed: words, or an address
    told = models.DateTimeField(_("user notified"), null=True, blank=True)
    created = models.DateTimeField(_("created"), auto_now_add=True)
    closed = models.DateTimeField(_("closed"), null=True, blank=True)
    reopened = models.DateTimeField(_("reopened by user feedback"), null=True, blank=True)

    class Meta:
        verbose_name = _("feedback case")
        verbose_name_plural = _("feedback cases")
        ordering: ClassVar = ["-created"]
        indexes: ClassVar = [models.Index(fields=["state", "-created"], name="feedback_case_state")]

    def __str__(self) -> str:
        return str(self.message)

    @property
    def expects_refusal(self) -> bool:
        """Whether a reviewer has found that the question has no answer here."""
        return self.resolution in (self.Resolution.RIGHTLY_REFUSED, self.Resolution.SHOULD_REFUSE)


class CaseBatch(models.Model):
    """Cases that were resolved at once; `cases` holds each as it was, so that the act can be undone."""

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    resolution = models.CharField(max_length=16, choices=BadCase.Resolution.choices)
    cases = models.JSONField(default=list)  # {"case", and its fields before}
    at = models.DateTimeField(auto_now_add=True)
    undone = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return f"{self.resolution} × {len(self.cases)}"


class CaseMove(models.Model):
    """One change of the state of a case: who decided what, when, and with which note. Rows are never changed."""

    case = models.ForeignKey(BadCase, on_delete=models.CASCADE, related_name="moves")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    before = models.CharField(max_length=8, choices=BadCase.State.choices)
    after = models.CharField(max_length=8, choices=BadCase.State.choices)
    note = models.TextField(blank=True)
    resolution = models.CharField(
        max_length=16, choices=BadCase.Resolution.choices, blank=True, default="", db_default=""
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-pk"]

    def __str__(self) -> str:
        return f"{self.before} → {self.after}"


class AnswerCheck(models.Model):
    """An answer that was looked at once for a case without a complaint (feedback.answer_checks)."""

    message = models.OneToOneField(
        "chat.Message", on_delete=models.CASCADE, primary_key=True, related_name="answer_check"
    )
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return str(self.message_id)


class SetEstimate(models.Model):
    """How many minutes an answer from a knowledge set saves, as its owner estimates."""

    knowledge_set = models.OneToOneField(
        "knowledge.KnowledgeSet", primary_key=True, on_delete=models.CASCADE, related_name="+"
    )
    minutes = models.PositiveSmallIntegerField(_("minutes saved by an answer"))  # 0 to 480

    class Meta:
        verbose_name = _("estimate of saved time")
        verbose_name_plural = _("estimates of saved time")

    def __str__(self) -> str:
        return f"{self.knowledge_set_id}: {self.minutes}"
