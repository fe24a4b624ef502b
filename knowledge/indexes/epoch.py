"""The corpus epoch of a tenant (D17)."""

from __future__ import annotations

from django.conf import settings

from knowledge.indexes.rows import execute
from knowledge.queue import APPLY_BACKEND_CHANGES, enqueue_on_commit

ADVANCE = """
INSERT INTO knowledge_corpusepoch (tenant_id, value) VALUES (%(tenant)s, 1)
ON CONFLICT (tenant_id) DO UPDATE SET value = knowledge_corpusepoch.value + 1
"""


def epoch_advance(*, tenant_id: int) -> None:
    """Make every cached answer of the tenant stale, as of the commit of the running transaction.

    Whoever changes what people can find calls this, so another search backend is told from here, too.
    """
    execute(ADVANCE, {"tenant": tenant_id})
    if settings.SEARCH_BACKEND != "postgres":
        enqueue_on_commit(APPLY_BACKEND_CHANGES)
