"""What versions that are trained have in common beside their state: what was learnt."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.utils.translation import gettext as _

from work.models import Version


class Training(Version):
    """One training and what came of it. Its job says how far it is; after that, what was learnt never changes."""

    weights: Any  # what was learnt; None: nothing yet, or nothing that could be used
    EMPTIED: ClassVar[dict[str, object]]  # what is not kept when it is over

    curve = models.JSONField(default=list)  # {"round", …}; the first is before training
    best_round = models.PositiveIntegerField(default=0)

    class Meta:
        abstract = True

    @property
    def is_usable(self) -> bool:
        """Whether it can be switched on."""
        return self.state in self.USABLE and self.weights is not None

    @property
    def gains(self) -> list[tuple[str, str]]:
        """(metric, before and after) on held-out documents."""
        overall = self.figures.get("overall", {})
        return [(metric, f"{gain['before']:.3f} → {gain['after']:.3f}") for metric, gain in overall.items()]

    @property
    def state_words(self) -> str:
        """Where it stands. What is ready was found to be better."""
        return _("Better, not in use") if self.state == self.State.READY else super().state_words


class PairTraining(Training):
    """A training with pairs of questions and passages of a set."""

    knowledge_set: Any
    origins: Any  # of pairs that it is trained with
    # while it is trained; both are removed when it is over, because questions are people's words
    pairs: Any
    checkpoint: Any

    class Meta:
        abstract = True
