"""Entities: reading documents for them in the background, and what owners decide about their names."""

from knowledge.services.entities.decisions import (
    entities_merge,
    entity_confirm,
    entity_decision_undo,
    entity_reject,
    entity_split,
)
from knowledge.services.entities.reading import entities_attributes_changed, entities_reread, entities_tend

__all__ = [
    "entities_attributes_changed",
    "entities_merge",
    "entities_reread",
    "entities_tend",
    "entity_confirm",
    "entity_decision_undo",
    "entity_reject",
    "entity_split",
]
