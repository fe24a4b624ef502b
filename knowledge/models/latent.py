"""Domain vectors: latent semantic analysis of a tenant's own passages, a model version that is switched like any."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from pgvector.django import HalfVectorField

LATENT_DIMENSIONS = 384
JOINED_DIMENSIONS = 768


class LatentModel(models.Model):
    """One fit on a tenant's passages: what is known of its terms (LatentTerm) and of each passage (LatentVector)."""

    class State(models.TextChoices):
        BUILDING = "building", _("being built")
        LIVE = "live", _("in use")
        RETIRED = "retired", _("kept, not in use")
        DROPPED = "dropped", _("deleted")

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    model = models.CharField(_("embedding model"), max_length=128)
    number = models.PositiveIntegerField(_("version"))  # within tenant and model
    state = models.CharField(_("state"), max_length=16, choices=State.choices, default=State.BUILDING)
    passages = models.PositiveIntegerField(_("passages"))  # entries that there were when it was fitted
    sampled = models.PositiveIntegerField(default=0)  # of them, that it was fitted on
    terms = models.PositiveIntegerField(_("terms"), default=0)
    captured = models.FloatField(default=0)  # share of the sampled passages that their latent numbers hold
    usual = models.FloatField(default=1)  # how much of a question its numbers hold, the median of some sentences
    rotation = models.IntegerField(default=0)  # of the embedder's part
    cosine_offset = models.FloatField(default=0)  # of its cosines, to the scale of the embedder's own
    cosine_slope = models.FloatField(default=1)
    last_entry = models.PositiveBigIntegerField(default=0)  # the newest one at the time of the fit
    seconds = models.FloatField(_("seconds"), default=0)  # of the fit
    drift = models.FloatField(_("drift"), null=True, blank=True)  # 0 to 1, of passages since then; None: too few
    drift_passages = models.PositiveIntegerField(default=0)
    figures = models.JSONField(default=dict, blank=True)  # what it finds, beside the embedder alone; {}: not measured
    created = models.DateTimeField(_("fitted"), default=timezone.now)
    switched = models.DateTimeField(_("in use since"), null=True, blank=True)
    author = models.ForeignKey(  # who switched it on; empty: index maintenance
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        verbose_name = _("domain vectors")
        verbose_name_plural = _("domain vectors")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "model", "number"], name="knowledge_latent_once")
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.number}"


class LatentTerm(models.Model):
    """The latent numbers of a term, times its rarity. Written once, by binary COPY; goes with its model."""

    pk = models.CompositePrimaryKey("latent_id", "term_id")
    latent = models.ForeignKey(LatentModel, on_delete=models.CASCADE, db_index=False, related_name="+")
    term_id = models.BigIntegerField()
    rarity = models.FloatField()
    vector = HalfVectorField(dimensions=LATENT_DIMENSIONS)

    def __str__(self) -> str:
        return f"{self.latent_id} {self.term_id}"


class LatentVector(models.Model):
    """The joined vector of an entry, in the same columns as a WholeVector: a search reads one table or the other.

    Rows go with their entry and with their model, by foreign keys of the database. `embedding_model` names the fit.
    """

    pk = models.CompositePrimaryKey("entry_id", "latent_id")
    entry_id = models.BigIntegerField()
    latent_id = models.BigIntegerField()
    chunk_id = models.BigIntegerField()
    version_id = models.BigIntegerField()
    tenant_id = models.BigIntegerField()
    representation = models.CharField(max_length=16)
    embedding_model = models.CharField(max_length=160)
    vector = HalfVectorField(dimensions=JOINED_DIMENSIONS)
    cell = models.IntegerField(default=0, db_default=0)  # as of a WholeVector

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["chunk_id"], name="knowledge_latent_chunk"),
            models.Index(fields=["version_id"], name="knowledge_latent_version"),
            models.Index(fields=["tenant_id", "cell"], name="knowledge_latent_cell"),
        ]

    def __str__(self) -> str:
        return f"{self.entry_id} {self.latent_id}"
