"""Golden sets with their cases, and evaluation runs."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from accounts.relative_time import exact_time
from evaluation.proposal_models import ProposedCase as ProposedCase
from evaluation.remedy_models import OptionsDraft as OptionsDraft
from evaluation.remedy_models import RemedyApplication as RemedyApplication
from evaluation.remedy_models import WantedDocument as WantedDocument

OPTIONAL_CHOICE: dict[str, Any] = {"max_length": 16, "blank": True, "default": "", "db_default": ""}


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
    guards = models.BooleanField(
        _("guards publishing"),
        default=True,
        help_text=_("New settings of its knowledge set are published only when these cases do not get worse."),
    )
    floors = models.JSONField(
        _("lowest values"),
        default=dict,
        blank=True,
        help_text=_("One per line, such as ndcg@10 = 0.8. Settings with a lower value are not published."),
    )  # metric -> value
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

    class Target(models.TextChoices):
        TEXT = "text", pgettext_lazy("golden case", "Text")
        TABLE = "table", pgettext_lazy("golden case", "Table")
        FIGURE = "figure", pgettext_lazy("golden case", "Figure")
        ATTACHMENT = "attachment", pgettext_lazy("golden case", "Attachment")
        CODE = "code", pgettext_lazy("golden case", "Program code")

    class Structure(models.TextChoices):
        SENTENCE = "sentence", pgettext_lazy("golden case", "Single sentence")
        LONG_TEXT = "long_text", pgettext_lazy("golden case", "Long text")
        SEVERAL_PASSAGES = "several_passages", pgettext_lazy("golden case", "Multiple passages")
        HEADING_LEVEL = "heading_level", pgettext_lazy("golden case", "Under a heading")

    class Robustness(models.TextChoices):
        SYNONYMS = "synonyms", pgettext_lazy("golden case", "Synonyms")
        JARGON = "jargon", pgettext_lazy("golden case", "Jargon")
        SPECIAL_WORDS = "special_words", pgettext_lazy("golden case", "Rare terms")

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
        help_text=_("Relevance from 1 to 3, by document or quotation; 1 if not given."),
    )
    key_points = ArrayField(
        models.TextField(),
        default=list,
        blank=True,
        verbose_name=_("key points"),
        help_text=_("A complete answer contains all of these."),
    )
    expects_refusal = models.BooleanField(
        _("expects a refusal"), default=False, help_text=_("No document answers this question.")
    )
    style = models.CharField(_("phrasing"), max_length=16, choices=Style.choices, default=Style.ORIGINAL)
    level = models.CharField(_("level"), max_length=16, choices=Level.choices, default=Level.SINGLE)
    # what a case tests; "": nobody has said
    target = models.CharField(_("answer type"), choices=Target.choices, **OPTIONAL_CHOICE)
    structure = models.CharField(pgettext_lazy("golden case", "location"), choices=Structure.choices, **OPTIONAL_CHOICE)
    robustness = models.CharField(_("difficulty"), choices=Robustness.choices, **OPTIONAL_CHOICE)
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
    """A version of a golden set, asked once with each of some configurations, with the rights of who started it.

    Its row keeps what is measured, and the state of the job that measures it (`evaluation.jobs.run_evaluation`).
    """

    class State(models.TextChoices):
        RUNNING = "running", pgettext_lazy("state of an evaluation run", "Running")
        PAUSED = "paused", pgettext_lazy("state of an evaluation run", "Paused")
        DONE = "done", pgettext_lazy("state of an evaluation run", "Finished")
        CANCELLED = "cancelled", pgettext_lazy("state of an evaluation run", "Cancelled")
        FAILED = "failed", pgettext_lazy("state of an evaluation run", "Failed")

    golden_set = models.ForeignKey(
        "evaluation.GoldenSet", on_delete=models.CASCADE, related_name="runs", verbose_name=_("golden set")
    )
    version = models.ForeignKey(GoldenVersion, null=True, editable=False, on_delete=models.CASCADE, related_name="+")
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("started by"),
    )  # whose rights hold; without this person a run cannot go on
    state = models.CharField(_("state"), max_length=16, choices=State.choices, default=State.DONE)
    limit = models.PositiveIntegerField(null=True)  # the first cases only
    total = models.PositiveIntegerField(default=0)  # cases × configurations
    options = models.JSONField(_("options"), default=dict)  # of the first configuration
    options_sha256 = models.CharField(max_length=64)
    figures = models.JSONField(_("figures"), default=dict)  # of the first configuration
    started = models.DateTimeField(_("started"), auto_now_add=True)
    finished = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        verbose_name = _("evaluation run")
        verbose_name_plural = _("evaluation runs")
        ordering: ClassVar = ["-started", "-pk"]

    def __str__(self) -> str:
        return f"{self.golden_set} {exact_time(self.started)}"

    @property
    def is_open(self) -> bool:
        """Whether cases are still to be asked."""
        return self.state in (self.State.RUNNING, self.State.PAUSED)


class RunConfiguration(models.Model):
    """One of the configurations of a run: options over those that are live, and which part of the product runs."""

    class Component(models.TextChoices):
        ANSWER = "answer", pgettext_lazy("what a run asks", "Whole answer")
        RETRIEVAL = "retrieval", pgettext_lazy("what a run asks", "Retrieval alone")
        REWRITING = "rewriting", pgettext_lazy("what a run asks", "Query rewriting alone")
        RERANK = "rerank", pgettext_lazy("what a run asks", "Reranking alone")
        COMPRESSION = "compression", pgettext_lazy("what a run asks", "Context compression alone")
        GENERATION = "generation", pgettext_lazy("what a run asks", "Generation alone, from the relevant documents")
        SUPPORT = "support", pgettext_lazy("what a run asks", "Support check alone, of the accepted answer")
        TRIPLES = "triples", pgettext_lazy("what a run asks", "Triples alone, with and without re-scoring")

    run = models.ForeignKey(EvaluationRun, on_delete=models.CASCADE, related_name="configurations")
    position = models.PositiveSmallIntegerField(default=0)
    name = models.CharField(_("name"), max_length=100)
    component = models.CharField(max_length=16, choices=Component.choices, default=Component.ANSWER)
    retrieval_mode = models.CharField(max_length=8, default="hybrid")
    options = models.JSONField(default=dict)  # group -> option -> value; null: as the layer below says
    tried = models.JSONField(default=dict, db_default={})  # as `evaluation.services.runs.plans.Tried` keeps it
    options_sha256 = models.CharField(max_length=64)
    figures = models.JSONField(default=dict)  # metric -> value, low, high, sd, cases
    dimensions = models.JSONField(default=dict)  # dimension -> its value -> metric -> value, sd, cases
    failed = models.PositiveIntegerField(default=0)  # cases

    class Meta:
        ordering: ClassVar = ["run", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["run", "position"], name="evaluation_configuration_once")
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def shown_name(self) -> str:
        """The name in the language of the reader where it is one of ours."""
        return {"live": gettext("live"), "draft": gettext("draft")}.get(self.name, self.name)

    @property
    def shown_mode(self) -> str:
        """Which searches ran, in words."""
        modes = {
            "bm25": gettext("Keywords only"),
            "vector": gettext("Semantic only"),
            "graph": gettext("Graph only"),
        }
        return modes.get(self.retrieval_mode, self.retrieval_mode)


class CaseOutcome(models.Model):
    """What one configuration did with one case. Written once."""

    configuration = models.ForeignKey(RunConfiguration, on_delete=models.CASCADE, related_name="outcomes")
    case = models.BigIntegerField()  # id in the version of the golden set; the case itself may be gone
    scores = models.JSONField(default=dict)  # metric -> value
    trace = models.JSONField(default=dict)  # what was found and answered; documents and passages by id
    seconds = models.FloatField(default=0.0)
    error = models.CharField(max_length=64, blank=True)  # code; such a case counts as 0
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["configuration", "case"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["configuration", "case"], name="evaluation_outcome_once")
        ]

    def __str__(self) -> str:
        return f"{self.configuration_id} {self.case}"


class GatedChange(models.Model):
    """A change that is published only when the golden sets that guard it do not get worse."""

    class Kind(models.TextChoices):
        SET_OPTIONS = "set_options", pgettext_lazy("what a change publishes", "Settings of a knowledge set")
        SET_TEXTS = "set_texts", pgettext_lazy("what a change publishes", "Prompt texts of a knowledge set")
        LEXICON = "lexicon", pgettext_lazy("what a change publishes", "Lexicon of a knowledge set")
        QUERY_ADAPTER = "query_adapter", pgettext_lazy("what a change publishes", "Fitted query vectors")
        EMBEDDER = "embedder", pgettext_lazy("what a change publishes", "Embedding model of the site")
        RERANKER = "reranker", pgettext_lazy("what a change publishes", "Reranker of the site")
        RERANKER_FIT = "reranker_fit", pgettext_lazy("what a change publishes", "Fitted reranker weights")
        SET_EMBEDDER = "set_embedder", pgettext_lazy("what a change publishes", "Embedding model of a knowledge set")
        SITE_OPTIONS = "site_options", pgettext_lazy("what a change publishes", "Default settings")
        SITE_LEXICON = "site_lexicon", pgettext_lazy("what a change publishes", "Lexicon of the organisation")

    class State(models.TextChoices):
        MEASURING = "measuring", pgettext_lazy("state of a change", "Being measured")
        PASSED = "passed", pgettext_lazy("state of a change", "Passed")
        FAILED = "failed", pgettext_lazy("state of a change", "Not passed")
        PUBLISHED = "published", pgettext_lazy("state of a change", "Published")
        OVERRIDDEN = "overridden", pgettext_lazy("state of a change", "Published anyway")
        DISCARDED = "discarded", pgettext_lazy("state of a change", "Discarded")

    kind = models.CharField(_("kind"), max_length=16, choices=Kind.choices, default=Kind.SET_OPTIONS)
    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet", on_delete=models.CASCADE, related_name="+", verbose_name=_("knowledge set")
    )
    payload = models.JSONField(default=dict)  # what is published, as the kind reads it
    base_sha256 = models.CharField(max_length=64)  # of what was live when it was measured
    note = models.CharField(max_length=256, blank=True)
    state = models.CharField(_("state"), max_length=16, choices=State.choices, default=State.MEASURING)
    runs = models.ManyToManyField(EvaluationRun, related_name="gated_changes")  # live against draft
    reason = models.CharField(_("reason"), max_length=500, blank=True)  # of publishing all the same
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, editable=False, on_delete=models.SET_NULL, related_name="+"
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    decided = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("measured change")
        verbose_name_plural = _("measured changes")
        ordering: ClassVar = ["-created", "-pk"]

    def __str__(self) -> str:
        return f"{self.kind} {self.knowledge_set_id}"

    @property
    def is_open(self) -> bool:
        """Whether somebody has still to decide."""
        return self.state in (self.State.MEASURING, self.State.PASSED, self.State.FAILED)


class Diagnosis(models.Model):
    """Why an answer failed, as far as has been found out. The latest one of an answer counts."""

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
        "knowledge.Document", null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )  # that bears the answer; what was found out goes with it
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
