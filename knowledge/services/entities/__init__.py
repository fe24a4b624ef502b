"""Entities: reading documents for them, and what owners decide about their names."""

from knowledge.services.entities.decisions import (
    entities_merge,
    entity_confirm,
    entity_decision_undo,
    entity_reject,
    entity_split,
)
from knowledge.services.entities.reading import entities_attributes_changed, entities_reread

__all__ = [
    "entities_attributes_changed",
    "entities_merge",
    "entities_reread",
    "entity_confirm",
    "entity_decision_undo",
    "entity_reject",
    "entity_split",
]
