"""Vectors of a set's passages for a training, within the rights of who started it (D7)."""

from __future__ import annotations

from accounts.scope import Scope
from knowledge import model_registry
from knowledge.indexes.training_vectors import PassageVectors, passage_vectors_load
from knowledge.selectors.visibility import visible_to

MOST_ENTRIES = 120_000  # 370 MB; of larger sets some documents are read, and the training says how many


def passage_vectors(*, scope: Scope, set_id: int) -> PassageVectors:
    """Entries of the set's passages that the asker may search, of the embedding model in use."""
    visible = visible_to(scope=scope, sets=[set_id])
    model = model_registry.embedder().model
    return passage_vectors_load(scope=scope, visible=visible, model=model, limit=MOST_ENTRIES)
