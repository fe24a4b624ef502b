"""Moving new entries into the HNSW index, and removing what no search can reach any more."""

from __future__ import annotations

from knowledge.indexes.rows import execute, fetch

LARGE_TENANTS = """
SELECT tenant_id FROM knowledge_document
WHERE deleted IS NULL AND live_version_id IS NOT NULL AND entries > 0
GROUP BY tenant_id HAVING sum(entries) > %(limit)s ORDER BY tenant_id
"""
PARTS = """
SELECT count(*) FILTER (WHERE NOT merged), count(*) FILTER (WHERE merged)
FROM knowledge_indexentry WHERE tenant_id = ANY(%(tenants)s)
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
ANALYSE = """
ANALYZE knowledge_indexentry, knowledge_document, knowledge_document_sets, knowledge_documentversion (id, document_id),
    knowledge_chunk (id, version_id)
"""
CHANGED = """
SELECT coalesce(sum(n_mod_since_analyze), 0), coalesce(sum(n_live_tup), 0) FROM pg_stat_user_tables
WHERE relname IN ('knowledge_indexentry', 'knowledge_document', 'knowledge_document_sets')
"""


def tenants_beyond(limit: int) -> list[int]:
    """Tenants with more live entries, each with its vectors, than an exact scan should touch."""
    return [row[0] for row in fetch(LARGE_TENANTS, {"limit": limit})]


def parts_counted(tenants: list[int]) -> tuple[int, int]:
    """Entries of these tenants outside of the index, and in it. Reads them all: for maintenance only."""
    tail, merged = fetch(PARTS, {"tenants": tenants})[0]
    return int(tail), int(merged)


def tail_merge(*, tenant_id: int, limit: int) -> int:
    """Move up to `limit` entries of the tail into the HNSW index; returns how many."""
    return execute(MERGE, {"tenant": tenant_id, "limit": limit})


def entries_purge(*, age_seconds: float, limit: int) -> int:
    """Delete entries whose version was retired or whose document was deleted longer ago than this."""
    return execute(PURGE, {"age": age_seconds, "limit": limit})


def statistics_are_old(*, share: float, least: int) -> bool:
    """Whether so many rows have changed since the planner of Postgres looked that its plans may be bad ones."""
    changed, live = fetch(CHANGED, {})[0]
    return int(changed) > max(least, share * int(live))


def tables_analyse() -> None:
    """Have the planner of Postgres look at what searches join; some hundred milliseconds, nobody waits for it."""
    execute(ANALYSE, {})
