"""Documents that say nearly the same (D25)."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _


class SketchBand(models.Model):
    """One band of the MinHash sketch of a live version; versions that share a band are compared."""

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    version = models.ForeignKey("knowledge.DocumentVersion", on_delete=models.CASCADE, related_name="bands")
    band = models.PositiveSmallIntegerField()
    value = models.BigIntegerField()

    class Meta:
        verbose_name = _("sketch band")
        verbose_name_plural = _("sketch bands")
        constraints: ClassVar = [models.UniqueConstraint(fields=["version", "band"], name="knowledge_band_once")]
        indexes: ClassVar = [models.Index(fields=["tenant", "band", "value"], name="knowledge_band_value")]

    def __str__(self) -> str:
        return f"{self.version_id}/{self.band}"


class DuplicatePair(models.Model):
    """Two documents with the same or nearly the same text; reported to owners, who decide."""

    class Kind(models.TextChoices):
        EXACT = "exact", _("The same text")
        NEAR = "near", _("Nearly the same text")

    class State(models.TextChoices):
        OPEN = "open", _("Open")
        KEPT = "kept", _("Both are kept")

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    first = models.ForeignKey("knowledge.Document", on_delete=models.CASCADE, related_name="+")  # the lower id
    second = models.ForeignKey("knowledge.Document", on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    similarity = models.FloatField(_("similarity"))  # estimated Jaccard of shingles, 0 to 1
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.OPEN)
    found = models.DateTimeField(_("found"), auto_now_add=True)

    class Meta:
        verbose_name = _("near-duplicate")
        verbose_name_plural = _("near-duplicates")
        ordering: ClassVar = ["-similarity", "-id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["first", "second"], name="knowledge_pair_once")]

    def __str__(self) -> str:
        return f"{self.first_id} ≈ {self.second_id}"
