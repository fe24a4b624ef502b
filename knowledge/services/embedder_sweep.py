"""Deleting the vectors of embedding models that the site has given up, beside questions (decision 031).

Whoever cancels a change or gives up the way back asks for it (`embedder_switch`). A task deletes them in batches; what
it leaves when its process dies, weekly maintenance takes. A model that the site needs again keeps the vectors that are
left.
"""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from knowledge.indexes.embedder_fill import DROPS, vectors_drop
from knowledge.model_registry import live_model
from knowledge.model_setup import setup_refresh
from knowledge.models import EmbedderSwitch

DROP_BATCH = 5_000


def vectors_sweep(*, model: str = "") -> int:
    """Delete the vectors of a model that was given up, or of all of them; returns how many. Safe to run twice.

    Call outside of transactions.
    """
    setup_refresh(now=True)
    ended = EmbedderSwitch.objects.filter(state__in=EmbedderSwitch.ENDED).order_by("model")
    models = [model] if model else list(ended.values_list("model", flat=True).distinct())
    return sum(_swept(name) for name in models)


def models_in_deletion() -> list[str]:
    """Models that were given up, some of whose vectors may be left, by name."""
    ended = EmbedderSwitch.objects.filter(state__in=EmbedderSwitch.ENDED, vectors_deleted=None).order_by("model")
    return [name for name in ended.values_list("model", flat=True).distinct() if not _is_needed(name)]


def _swept(model: str) -> int:
    dropped = 0
    for of in DROPS:
        after, count = 0, DROP_BATCH
        while count == DROP_BATCH:
            with transaction.atomic():
                rows = list(EmbedderSwitch.objects.filter(model=model).select_for_update().order_by("pk"))
                if _is_needed(model):  # whoever starts with it again waits for these rows
                    return dropped
                count, after = vectors_drop(model=model, of=of, after=after, limit=DROP_BATCH)
            dropped += count
    ended = [row.pk for row in rows if row.state in EmbedderSwitch.ENDED]
    EmbedderSwitch.objects.filter(pk__in=ended, vectors_deleted=None).update(vectors_deleted=timezone.now())
    return dropped


def _is_needed(model: str) -> bool:
    """Whether the site answers by it, or is on its way to it or may go back to it."""
    ended = EmbedderSwitch.ENDED
    return model == live_model() or EmbedderSwitch.objects.filter(model=model).exclude(state__in=ended).exists()
