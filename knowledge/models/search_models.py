"""Embedding models and rerankers that platform administrators register, and the way to another one."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

MAX_TOKENS = 1_000_000


class SearchModel(models.Model):
    """An embedding model or a reranker of the whole site. `key` is encrypted; nothing but the client reads it."""

    class Task(models.TextChoices):
        EMBED = "embed", _("embedding model")
        RERANK = "rerank", _("reranker")

    class Provider(models.TextChoices):
        PACKAGED = "packaged", _("built-in")
        SERVER = "server", _("a server")
        FOLDER = "folder", _("a folder on this machine")

    class Pooling(models.TextChoices):
        CLS = "cls", _("first token")
        MEAN = "mean", _("mean of all tokens")
        MAX = "max", _("maximum of all tokens")
        LAST = "lasttoken", _("last token")

    PACKAGED_TITLES: ClassVar = {
        "embedded_e5": _("built-in: Chinese and English (multilingual-e5-small)"),
        "embedded": _("built-in: English (all-MiniLM-L6-v2)"),
    }

    task = models.CharField(_("kind"), max_length=8, choices=Task.choices, default=Task.EMBED)
    provider = models.CharField(_("where it runs"), max_length=16, choices=Provider.choices, default=Provider.SERVER)
    name = models.CharField(
        _("model"),
        max_length=512,
        blank=True,
        help_text=_(
            "Name on the server, such as bge-m3, or the path of its folder. "
            "Built-in models are embedded_e5 and embedded."
        ),
    )
    url = models.CharField(
        _("address"),
        max_length=1024,
        blank=True,
        help_text=_("Of a server: of its OpenAI-compatible API for embedding models, of its rerank API for rerankers."),
    )
    key = models.TextField(_("key"), blank=True, editable=False)
    query_prefix = models.CharField(
        _("before questions"), max_length=512, blank=True, help_text=_("As the card of the model asks: “query: ”.")
    )
    document_prefix = models.CharField(_("before passages"), max_length=512, blank=True)
    pooling = models.CharField(
        _("pooling"),
        max_length=16,
        choices=Pooling.choices,
        blank=True,
        help_text=_("How tokens become one vector. If empty, the model's own setting is used."),
    )
    max_tokens = models.PositiveIntegerField(
        _("tokens that are read"),
        null=True,
        blank=True,
        validators=[MinValueValidator(128), MaxValueValidator(MAX_TOKENS)],
        help_text=_("Of each text. If empty, the model's own setting is used."),
    )
    trust_remote_code = models.BooleanField(
        _("run the code in its folder"),
        default=False,
        help_text=_("Some models come with code of their own. It can do everything that this product can do."),
    )
    price = models.DecimalField(
        _("price"),
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text=_("Per million tokens."),
    )
    vectors = models.CharField(max_length=128, blank=True, editable=False)  # name under which vectors are stored
    is_used = models.BooleanField(default=False, editable=False)  # of rerankers: it orders passages
    tested = models.DateTimeField(_("tested"), null=True, editable=False)
    test_code = models.CharField(max_length=32, blank=True, editable=False)  # "": not tested
    test_data = models.JSONField(default=dict, blank=True, editable=False)
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("search model")
        verbose_name_plural = _("search models")
        ordering: ClassVar = ["task", "name"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["vectors"], condition=models.Q(task="embed"), name="knowledge_embedder_vectors_once"
            ),
            models.UniqueConstraint(
                fields=["is_used"], condition=models.Q(is_used=True), name="knowledge_reranker_one_used"
            ),
        ]

    def __str__(self) -> str:
        is_packaged = self.task == self.Task.EMBED and self.provider == self.Provider.PACKAGED
        title = self.PACKAGED_TITLES.get(self.name) if is_packaged else None
        return str(title) if title else self.name or str(self.get_provider_display())


class VectorsMade(models.Model):
    """Vectors by another embedding model: who started them, and what they are worth.

    How far they are, and the last error, stand in their job (`knowledge.services.fill_jobs`).
    """

    model = models.CharField(max_length=128)
    figures = models.JSONField(default=dict, blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("author")
    )
    created = models.DateTimeField(_("started"), default=timezone.now)
    live_since = models.DateTimeField(_("in use since"), null=True)
    reason = models.CharField(max_length=512, blank=True)  # why it was switched on against the measurement

    class Meta:
        abstract = True


class EmbedderSwitch(VectorsMade):
    """The site's way to another embedding model: vectors made beside the live ones, then one transaction.

    `model` names vectors; `figures`: calibration and measured comparison. The target is a row, or the model of the
    environment (None). Of the switches that have ended, the one in use is LIVE, and the one whose vectors are kept for
    going back is KEPT.
    """

    class State(models.TextChoices):
        BUILDING = "building", _("computing vectors")
        PAUSED = "paused", _("paused")
        READY = "ready", _("ready to switch")
        LIVE = "live", _("in use")
        KEPT = "kept", _("kept for rollback")
        CANCELLED = "cancelled", _("cancelled")
        DROPPED = "dropped", _("vectors deleted")

    OPEN: ClassVar = (State.BUILDING, State.PAUSED, State.READY)
    FILLED: ClassVar = (State.BUILDING, State.READY, State.LIVE, State.KEPT)  # new passages get vectors
    ENDED: ClassVar = (State.CANCELLED, State.DROPPED)  # its vectors go, unless another row needs them

    target = models.ForeignKey(
        SearchModel, null=True, blank=True, on_delete=models.PROTECT, related_name="switches", verbose_name=_("model")
    )
    state = models.CharField(_("state"), max_length=16, choices=State.choices, default=State.BUILDING)
    vectors_deleted = models.DateTimeField(null=True)  # of one that has ended: since when it has no vectors

    class Meta:
        verbose_name = _("change of the embedding model")
        verbose_name_plural = _("changes of the embedding model")
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["state"], condition=models.Q(state__in=("live", "kept")), name="knowledge_embedder_one_of_each"
            ),
            models.UniqueConstraint(
                models.Value(1),
                condition=models.Q(state__in=("building", "paused", "ready")),
                name="knowledge_embedder_one_open",
            ),
        ]

    def __str__(self) -> str:
        return self.model
