"""Embedding models that owners of a set have chosen for it, beside or in the place of the site's."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from knowledge.models.search_models import SearchModel, VectorsMade


class SetEmbedder(VectorsMade):
    """One choice of a model for a set; numbers are 1, 2, … in each set.

    Its vectors stand in SetVector under the name `model`. `figures`: {"scales": {site's model: scale}, "comparison"},
    as `knowledge.services.set_embedder_scale` measures them.
    """

    class Mode(models.TextChoices):
        FUSED = "fused", _("together with the site's model")
        ALONE = "alone", _("alone")

    class State(models.TextChoices):
        BUILDING = "building", _("computing vectors")
        PAUSED = "paused", _("paused")
        READY = "ready", _("ready to switch")
        LIVE = "live", _("in use")
        OFF = "off", pgettext_lazy("an embedding model", "switched off, kept")
        CANCELLED = "cancelled", _("cancelled")
        DROPPED = "dropped", _("vectors deleted")

    OPEN: ClassVar = (State.BUILDING, State.PAUSED, State.READY)
    FILLED: ClassVar = (State.LIVE, State.BUILDING, State.READY, State.OFF)  # new passages get vectors, in this order
    COMPLETE: ClassVar = (State.READY, State.LIVE, State.OFF)  # a search may use them
    HELD: ClassVar = (*OPEN, State.LIVE, State.OFF)  # its vectors are kept

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    knowledge_set = models.ForeignKey(
        "knowledge.KnowledgeSet", on_delete=models.CASCADE, related_name="embedders", verbose_name=_("set")
    )
    target = models.ForeignKey(
        SearchModel, on_delete=models.PROTECT, related_name="set_embedders", verbose_name=_("model")
    )
    number = models.PositiveIntegerField(_("number"))
    mode = models.CharField(_("mode"), max_length=8, choices=Mode.choices, default=Mode.FUSED)
    state = models.CharField(_("state"), max_length=16, choices=State.choices, default=State.BUILDING)

    class Meta:
        verbose_name = _("embedding model of a set")
        verbose_name_plural = _("embedding models of sets")
        ordering: ClassVar = ["-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["knowledge_set", "number"], name="knowledge_set_embedder_once"),
            models.UniqueConstraint(
                fields=["knowledge_set"], condition=models.Q(state="live"), name="knowledge_set_embedder_one_live"
            ),
            models.UniqueConstraint(
                fields=["knowledge_set"],
                condition=models.Q(state__in=("building", "paused", "ready")),
                name="knowledge_set_embedder_one_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.number}"

    @property
    def is_open(self) -> bool:
        """Whether it is on its way into use."""
        return self.state in self.OPEN
