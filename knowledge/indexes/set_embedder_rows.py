"""What searches and the worker note at the rows of sets' embedding models, and which sets a change concerns (D6)."""

from __future__ import annotations

import logging

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from knowledge.errors import failure_columns
from knowledge.indexes.statements import fetch
from knowledge.models import Document, SetEmbedder
from ragcore.errors import RagError

logger = logging.getLogger(__name__)

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


def failure_note(*, row_id: int, error: Exception) -> None:
    """Note at a row that its model does not answer questions, once the running transaction is over.

    Whoever searches is not failed by this, and writes nothing where the same is noted already. Without what the model
    said: it may repeat the question, which is not for the owners of the set. The worker's own try tells more.
    """
    columns = {**failure_columns(error), "error_data": {}}
    if isinstance(error, RagError):
        columns["error_message"] = str(type(error).default_message)

    def note() -> None:
        rows = SetEmbedder.objects.filter(pk=row_id, state__in=SetEmbedder.FILLED)
        rows.exclude(error_code=columns["error_code"]).update(heartbeat=timezone.now(), **columns)

    try:
        transaction.on_commit(note, robust=True)
    except Exception:
        logger.exception("the failure of the model of a set could not be noted")
