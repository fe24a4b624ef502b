"""Golden sets with their cases, and evaluation runs."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class GoldenSet(models.Model):
    """A named collection of golden cases."""

    tenant = models.ForeignKey(
        "accounts.Tenant", on_delete=models.CASCADE, related_name="golden_sets", verbose_name=_("tenant")
    )
    name = models.CharField(_("name"), max_length=128)
    description = models.TextField(_("description"), blank=True)
    sets = models.ManyToManyField(
        "knowledge.KnowledgeSet", blank=True, related_name="golden_sets", verbose_name=_("knowledge sets")
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("created by"),
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("golden set")
        verbose_name_plural = _("golden sets")
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "name"], name="evaluation_golden_set_name_once")
        ]

    def __str__(self) -> str:
        return self.name


class GoldenCase(models.Model):
    """A question with what is expected: documents, passages, strings of a right answer, or a refusal."""

    class Style(models.TextChoices):
        ORIGINAL = "original", _("Original words")
        SUMMARISED = "summarised", _("Short intent")
        WITH_ERRORS = "with_errors", _("With typos")

    class Level(models.TextChoices):
        SINGLE = "single", _("One passage")
        MULTI_HOP = "multi_hop", _("Several documents")
        AGENT = "agent", _("Several steps")

    golden_set = models.ForeignKey(
        GoldenSet, on_delete=models.CASCADE, related_name="cases", verbose_name=_("golden set")
    )
    question = models.TextField(_("question"))
    answers = ArrayField(
        models.TextField(),
        default=list,
        blank=True,
        verbose_name=_("accepted answers"),
        help_text=_("A correct answer contains one of these."),
    )
    relevant = ArrayField(
        models.CharField(max_length=512),
        default=list,
        blank=True,
        verbose_name=_("relevant documents"),
        help_text=_("External ids, or #<document id>."),
    )
    passages = ArrayField(
        models.TextField(),
        default=list,
        blank=True,
        verbose_name=_("relevant passages"),
        help_text=_("Quotations. A passage that contains one of them is relevant."),
    )
    grades = models.JSONField(
        _("grades"),
        default=dict,
        blank=True,
        help_text=_("How relevant, 1 to 3, by document or quotation; 1 where nothing is said."),
    )
    key_points = ArrayField(
        models.TextField(),
        default=list,
        blank=True,
        verbose_name=_("key points"),
        help_text=_("A complete answer says all of these."),
    )
    expects_refusal = models.BooleanField(
        _("expects a refusal"), default=False, help_text=_("No document answers this question.")
    )
    style = models.CharField(_("phrasing"), max_length=16, choices=Style.choices, default=Style.ORIGINAL)
    level = models.CharField(_("level"), max_length=16, choices=Level.choices, default=Level.SINGLE)
    tags = ArrayField(models.CharField(max_length=64), default=list, blank=True, verbose_name=_("tags"))
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("golden case")
        verbose_name_plural = _("golden cases")
        ordering: ClassVar = ["golden_set", "id"]

    def __str__(self) -> str:
        return self.question[:80]


class GoldenVersion(models.Model):
    """The cases of a golden set at one time. Never changed."""

    golden_set = models.ForeignKey(
        GoldenSet, on_delete=models.CASCADE, related_name="versions", verbose_name=_("golden set")
    )
    number = models.PositiveIntegerField(_("number"))  # 1, 2, … in each golden set
    sha256 = models.CharField(max_length=64)  # of the cases without their ids
    cases = models.JSONField(default=list)  # {"id", and the fields of a file}
    note = models.CharField(_("note"), max_length=200, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("version of a golden set")
        verbose_name_plural = _("versions of golden sets")
        ordering: ClassVar = ["-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["golden_set", "number"], name="evaluation_golden_version_once")
        ]

    def __str__(self) -> str:
        return f"{self.golden_set_id} v{self.number}"


class EvaluationRun(models.Model):
    """Figures of one run with one configuration."""

    golden_set = models.ForeignKey(
        "evaluation.GoldenSet", on_delete=models.CASCADE, related_name="runs", verbose_name=_("golden set")
    )
    options = models.JSONField(_("options"), default=dict)
    options_sha256 = models.CharField(max_length=64)
    figures = models.JSONField(_("figures"), default=dict)  # metric -> value in 0..1 or milliseconds
    cases = models.JSONField(default=list)  # per case: id, recall, ndcg, contains, milliseconds
    started = models.DateTimeField(_("started"), auto_now_add=True)
    finished = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        verbose_name = _("evaluation run")
        verbose_name_plural = _("evaluation runs")
        ordering: ClassVar = ["-started"]

    def __str__(self) -> str:
        return f"{self.golden_set} {self.started:%Y-%m-%d %H:%M}"


class Diagnosis(models.Model):
    """Why an answer failed, as far as has been found out (D36). The latest one of an answer counts."""

    class Cause(models.TextChoices):
        CHUNKING = "chunking", pgettext_lazy("cause of a failed answer", "Passages")
        RETRIEVAL = "retrieval", pgettext_lazy("cause of a failed answer", "Search")
        RERANKING = "reranking", pgettext_lazy("cause of a failed answer", "Ranking")
        GENERATION = "generation", pgettext_lazy("cause of a failed answer", "Answer text")
        KNOWLEDGE_GAP = "knowledge_gap", pgettext_lazy("cause of a failed answer", "Missing knowledge")
        PERMISSION = "permission", pgettext_lazy("cause of a failed answer", "Rights")
        QUESTION = "question", pgettext_lazy("cause of a failed answer", "Question")
        NONE = "none", pgettext_lazy("cause of a failed answer", "Nothing wrong found")

    message = models.ForeignKey("chat.Message", on_delete=models.CASCADE, related_name="diagnoses")
    document = models.ForeignKey(
        "knowledge.Document", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )  # that bears the answer
    ordinal = models.PositiveIntegerField(null=True, blank=True)  # of the passage in it, 0-based
    answers = ArrayField(models.TextField(), default=list, blank=True)  # one of which a right answer has
    points = ArrayField(models.TextField(), default=list, blank=True)  # all of which a right answer has
    cause = models.CharField(_("cause"), max_length=16, choices=Cause.choices)
    subcause = models.CharField(_("sub-cause"), max_length=64)
    detail = models.CharField(max_length=64)
    confidence = models.FloatField(_("confidence"))  # 0 to 1
    evidence = models.JSONField(default=dict, blank=True)
    remedy = models.CharField(max_length=16, default="none")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("diagnosis")
        verbose_name_plural = _("diagnoses")
        ordering: ClassVar = ["-created", "-id"]
        indexes: ClassVar = [models.Index(fields=["message", "-created"], name="evaluation_diagnosis_latest")]

    def __str__(self) -> str:
        return f"{self.cause} {self.message_id}"


class DiagnosisRun(models.Model):
    """One walk over the cases of a tenant that have no diagnosis, in the order of their numbers."""

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )  # null: the nightly one
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    last_case = models.BigIntegerField(default=0)  # everything up to it is done or has failed
    leased_until = models.DateTimeField(null=True)  # by the worker that holds it
    started = models.DateTimeField(auto_now_add=True)
    finished = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-started", "-pk"]
        indexes: ClassVar = [models.Index(fields=["tenant", "-started"], name="evaluation_diagnosis_runs")]

    def __str__(self) -> str:
        return f"{self.tried}/{self.total}"

    @property
    def tried(self) -> int:
        """Cases that are done or have failed."""
        return self.done + self.failed


from evaluation.remedy_models import OptionsDraft, RemedyApplication, WantedDocument  # noqa: E402  # models of this app

__all__ = [
    "Diagnosis",
    "DiagnosisRun",
    "EvaluationRun",
    "GoldenCase",
    "GoldenSet",
    "GoldenVersion",
    "OptionsDraft",
    "RemedyApplication",
    "WantedDocument",
]
