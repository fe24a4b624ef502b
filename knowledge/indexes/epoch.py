"""The corpus epoch of a tenant (D17)."""

from __future__ import annotations

from knowledge.indexes.rows import execute

ADVANCE = """
INSERT INTO knowledge_corpusepoch (tenant_id, value) VALUES (%(tenant)s, 1)
ON CONFLICT (tenant_id) DO UPDATE SET value = knowledge_corpusepoch.value + 1
"""


def epoch_advance(*, tenant_id: int) -> None:
    """Make every cached answer of the tenant stale, as of the commit of the running transaction."""
    execute(ADVANCE, {"tenant": tenant_id})
