"""Chat models that platform administrators have registered: servers with their keys, and who does what."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from ragcore.model_limits import BETWEEN_TOKENS_SECONDS, FIRST_TOKEN_SECONDS, MAX_SECONDS

MAX_CONTEXT_TOKENS = 100_000_000
_SECONDS: tuple[MinValueValidator, MaxValueValidator] = (MinValueValidator(0.1), MaxValueValidator(MAX_SECONDS))


class LanguageModel(models.Model):
    """A chat model of the whole site; which of its servers answers is decided for each request."""

    name = models.CharField(
        _("model"),
        max_length=128,
        unique=True,
        help_text=_("Name on the server, such as gpt-4o-mini or qwen3:8b."),
        error_messages={"unique": _("This model is already registered.")},
    )
    price_in = models.DecimalField(
        _("price of input"),
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_("Per million tokens. Without prices, no cost is shown."),
    )
    price_out = models.DecimalField(
        _("price of output"), max_digits=12, decimal_places=6, null=True, blank=True, validators=[MinValueValidator(0)]
    )
    context_tokens = models.PositiveIntegerField(
        _("context length"),
        null=True,
        blank=True,
        validators=[MinValueValidator(512), MaxValueValidator(MAX_CONTEXT_TOKENS)],
        help_text=_("Tokens of question, sources and answer together. Prompts are kept within it."),
    )
    tokenizer = models.CharField(
        _("tokenizer"),
        max_length=255,
        blank=True,
        default="",
        db_default="",
        help_text=_(
            "Counts the prompts of this model. A tokenizer.json or a folder with one, in the folder models of the "
            "site’s data, such as tokenizers/qwen3; or cl100k_base or o200k_base. "
            "If empty, tokens are counted as usual."
        ),
    )
    first_token_seconds = models.FloatField(
        _("longest wait for the first token"),
        null=True,
        blank=True,
        validators=_SECONDS,
        help_text=format_lazy(
            _(
                "In seconds. The first word of a model’s reasoning counts, too. If empty, {seconds}. "
                "Set it for models that are loaded on demand or start slowly."
            ),
            seconds=int(FIRST_TOKEN_SECONDS),
        ),
    )
    between_tokens_seconds = models.FloatField(
        _("longest silence within an answer"),
        null=True,
        blank=True,
        validators=_SECONDS,
        help_text=format_lazy(_("In seconds. If empty, {seconds}."), seconds=int(BETWEEN_TOKENS_SECONDS)),
    )
    total_seconds = models.FloatField(
        _("longest answer"),
        null=True,
        blank=True,
        validators=_SECONDS,
        help_text=_("In seconds from the question to the last token. If empty, there is no limit while text flows."),
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("language model")
        verbose_name_plural = _("language models")
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(price_in__isnull=True, price_out__isnull=True)
                | models.Q(price_in__gte=0, price_out__gte=0),
                name="knowledge_model_prices",
            )
        ]

    def __str__(self) -> str:
        return self.name


class ModelServer(models.Model):
    """One of the servers of a model. `key` is encrypted; nothing reads it but the client that sends it."""

    model = models.ForeignKey(LanguageModel, on_delete=models.CASCADE, related_name="servers", verbose_name=_("model"))
    url = models.CharField(
        _("address"),
        max_length=1024,
        help_text=_("Address of its OpenAI-compatible API, such as https://api.example.org/v1."),
    )
    key = models.TextField(_("key"), blank=True, editable=False)
    enabled = models.BooleanField(_("in use"), default=True)
    tested = models.DateTimeField(_("tested"), null=True, editable=False)
    passed = models.DateTimeField(null=True, editable=False)  # since its last change; None: it answers nobody
    test_code = models.CharField(max_length=32, blank=True, editable=False)  # of ragcore.llm.probe; "": not tested
    test_data = models.JSONField(default=dict, blank=True, editable=False)  # of its sentence

    class Meta:
        verbose_name = _("server")
        verbose_name_plural = _("servers")
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["model", "url"], name="knowledge_server_once")]

    def __str__(self) -> str:
        return self.url


class ModelPurpose(models.Model):
    """What a model is used for; each purpose has one model at most."""

    class Purpose(models.TextChoices):
        STANDARD = "standard", pgettext_lazy("purpose of a model", "answers")
        FAST = "fast", _("answers to simple questions")
        ADVANCED = "advanced", _("answers to complex questions")
        LIGHT = "light", _("rewriting, analysis and summaries")
        JUDGE = "judge", _("judging passages and answers")

    purpose = models.CharField(_("used for"), max_length=16, choices=Purpose.choices, primary_key=True)
    model = models.ForeignKey(LanguageModel, on_delete=models.CASCADE, related_name="purposes", verbose_name=_("model"))

    class Meta:
        verbose_name = _("purpose of a model")
        verbose_name_plural = _("purposes of models")
        ordering: ClassVar = ["purpose"]

    def __str__(self) -> str:
        return f"{self.purpose} {self.model_id}"


class EnvironmentModelTest(models.Model):
    """The latest test of a model that the environment sets. `fingerprint`: of the model and server that were tested."""

    purpose = models.CharField(max_length=16, choices=ModelPurpose.Purpose.choices, primary_key=True)
    fingerprint = models.CharField(max_length=64)
    tested = models.DateTimeField(_("tested"))
    test_code = models.CharField(max_length=32)  # of ragcore.llm.probe
    test_data = models.JSONField(default=dict)

    class Meta:
        verbose_name = _("test of a model of the environment")
        verbose_name_plural = _("tests of models of the environment")

    def __str__(self) -> str:
        return f"{self.purpose} {self.test_code}"


class ModelExam(models.Model):
    """What the exam of a model found, and what a person has set. `fingerprint`: of the model and its servers."""

    fingerprint = models.CharField(max_length=64, unique=True)
    name = models.CharField(_("model"), max_length=128)
    finished = models.DateTimeField(_("finished"), null=True)  # of the latest whole exam
    results = models.JSONField(default=list)  # of its tasks, see ragcore.llm.exam
    profile = models.JSONField(default=dict)  # see ragcore.llm.model_profile
    overrides = models.JSONField(default=dict)  # fields of the profile that a person has set

    class Meta:
        verbose_name = _("exam of a language model")
        verbose_name_plural = _("exams of language models")

    def __str__(self) -> str:
        return self.name


class ModelsVersion(models.Model):
    """One row that gets another value with every change of the registry: processes compare it with what they read."""

    ONE = 1

    number = models.PositiveSmallIntegerField(primary_key=True, default=ONE)
    value = models.UUIDField(default=uuid.uuid4)

    def __str__(self) -> str:
        return str(self.value)
