"""Which sets a change of the vectors of a set's embedding model concerns, and when a set has changed."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q

from knowledge.indexes.statements import fetch
from knowledge.models import Document, SetEmbedder

SET_EPOCH = """
SELECT coalesce((SELECT everywhere FROM knowledge_corpusepoch WHERE tenant_id = %(tenant)s), 0),
    coalesce((SELECT value FROM knowledge_setepoch WHERE knowledge_set_id = %(set)s), 0)
"""


def set_epoch(*, tenant_id: int, set_id: int) -> tuple[int, int]:
    """Changes whenever something in a set has changed: the epoch of all sets of the tenant, and that of the set."""
    everywhere, value = fetch(SET_EPOCH, {"tenant": tenant_id, "set": set_id})[0]
    return int(everywhere), int(value)


def live_sets_concerned(*, row: SetEmbedder) -> list[int]:
    """Sets that search with vectors which the work on a row may have made: its own, and those with documents of it."""
    live = SetEmbedder.objects.filter(tenant_id=row.tenant_id, state=SetEmbedder.State.LIVE, model=row.model)
    pairs = Document.sets.through.objects.filter(knowledgeset_id=OuterRef("knowledge_set_id"))
    shared = Exists(pairs.filter(document__sets=row.knowledge_set_id))
    found = live.filter(Q(knowledge_set=row.knowledge_set_id) | shared)
    return sorted(found.values_list("knowledge_set_id", flat=True))
