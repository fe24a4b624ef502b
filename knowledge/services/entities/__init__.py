"""Entities: reading documents for them in the background, and what owners decide about their names (U8)."""

from knowledge.services.entities.decisions import (
    entities_merge,
    entity_confirm,
    entity_decision_undo,
    entity_reject,
    entity_split,
)

__all__ = [
    "entities_merge",
    "entity_confirm",
    "entity_decision_undo",
    "entity_reject",
    "entity_split",
]
