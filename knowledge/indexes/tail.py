"""Moving new entries into the HNSW indexes, and removing what no search can reach any more."""

from __future__ import annotations

from knowledge.indexes.rows import execute, fetch

LARGE_TENANTS = """
SELECT tenant_id FROM knowledge_indexentry GROUP BY tenant_id HAVING count(*) > %(limit)s ORDER BY tenant_id
"""
MERGE = """
UPDATE knowledge_indexentry SET merged = true WHERE id IN (
    SELECT id FROM knowledge_indexentry WHERE tenant_id = %(tenant)s AND NOT merged
    ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
"""
PURGE = """
DELETE FROM knowledge_indexentry WHERE id IN (
    SELECT e.id FROM knowledge_indexentry e
    JOIN knowledge_documentversion v ON v.id = e.version_id
    JOIN knowledge_document d ON d.id = v.document_id
    WHERE v.retired < now() - make_interval(secs => %(age)s) OR d.deleted < now() - make_interval(secs => %(age)s)
    LIMIT %(limit)s
)
"""


def tenants_beyond(limit: int) -> list[int]:
    """Tenants with more entries, each with its vectors, than an exact scan should touch."""
    return [row[0] for row in fetch(LARGE_TENANTS, {"limit": limit})]


def tail_merge(*, tenant_id: int, limit: int) -> int:
    """Move up to `limit` entries of the tail into the HNSW indexes; returns how many."""
    return execute(MERGE, {"tenant": tenant_id, "limit": limit})


def entries_purge(*, age_seconds: float, limit: int) -> int:
    """Delete entries whose version was retired or whose document was deleted longer ago than this."""
    return execute(PURGE, {"age": age_seconds, "limit": limit})
