"""Build, rebuild and vacuum the indexes beside their readers (decision 010).

PostgreSQL manual, "REINDEX … CONCURRENTLY": the new index is built beside the old one and replaces it at the end;
searches and inserts continue. It cannot run inside a transaction. An interrupted run leaves an invalid index with the
suffix `_ccnew` or `_ccold`, which costs every insert and serves no search.

The HNSW index is dropped and built as a whole where that is faster than inserting row by row. Searches stay exact
meanwhile, because the choice of the access path asks whether the index is there. A build wants the whole graph in
memory; where it does not fit, it is many times slower.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection
from psycopg import sql

from knowledge.indexes.statements import execute, fetch

REBUILT = """
SELECT i.relname
FROM pg_index x
JOIN pg_class i ON i.oid = x.indexrelid
JOIN pg_class t ON t.oid = x.indrelid
JOIN pg_am m ON m.oid = i.relam
WHERE t.relname LIKE 'knowledge\\_%%' AND t.relnamespace = current_schema()::regnamespace
  AND m.amname IN ('hnsw', 'gin') AND x.indisvalid
ORDER BY m.amname DESC, i.relname
"""
LEFTOVERS = """
SELECT i.relname
FROM pg_index x
JOIN pg_class i ON i.oid = x.indexrelid
JOIN pg_class t ON t.oid = x.indrelid
WHERE t.relname LIKE 'knowledge\\_%%' AND t.relnamespace = current_schema()::regnamespace
  AND NOT x.indisvalid AND i.relname ~ '_cc(new|old)[0-9]*$'
ORDER BY i.relname
"""
SIZE = "SELECT pg_relation_size(%(name)s::regclass)"

ORPHANS = """
DELETE FROM knowledge_term WHERE id IN (
    SELECT t.id FROM knowledge_term t
    WHERE t.tenant_id = %(tenant)s AND t.id > %(after)s AND t.id <= %(last)s AND t.frequency = 0
      AND NOT EXISTS (SELECT 1 FROM knowledge_indexentry e WHERE e.lexemes @@ t.id::text::tsquery)
)
"""
TERMS_AFTER = """
SELECT max(id) FROM (
    SELECT id FROM knowledge_term
    WHERE tenant_id = %(tenant)s AND id > %(after)s AND frequency = 0 ORDER BY id LIMIT %(limit)s
) next
"""
ORPHANS_COUNT = """
SELECT count(*) FROM knowledge_term t
WHERE t.frequency = 0 AND NOT EXISTS (SELECT 1 FROM knowledge_indexentry e WHERE e.lexemes @@ t.id::text::tsquery)
"""
HNSW_INDEX = "knowledge_entry_coarse"
ROW_BYTES = 1200  # of the graph in memory without its links: the vector, its element and the allocator
LINK_BYTES = 24  # a neighbour; 2·m of them on the lowest layer
LEAST_MB = 64
STATE = """
SELECT x.indisvalid, coalesce(i.reloptions, '{}'::text[])
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
WHERE i.relname = %(name)s AND i.relnamespace = current_schema()::regnamespace
"""
MERGED = "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'knowledge_indexentry'::regclass"
DROP = sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}")
CREATE = sql.SQL(
    "CREATE INDEX CONCURRENTLY {} ON knowledge_indexentry USING hnsw (coarse halfvec_cosine_ops) "
    "WITH (m = {}, ef_construction = {}) WHERE merged"
)
VACUUM = sql.SQL("VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) knowledge_indexentry")
SET_OPTIONS = sql.SQL("ALTER INDEX {} SET (m = {}, ef_construction = {})")
SET_MEMORY = "SELECT set_config('maintenance_work_mem', %(value)s, false)"
RESET_MEMORY = "RESET maintenance_work_mem"
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
WITH gone AS (
    DELETE FROM knowledge_indexentry WHERE id IN (
        SELECT e.id FROM knowledge_indexentry e
        JOIN knowledge_documentversion v ON v.id = e.version_id
        JOIN knowledge_document d ON d.id = v.document_id
        WHERE v.retired < now() - make_interval(secs => %(age)s) OR d.deleted < now() - make_interval(secs => %(age)s)
        LIMIT %(limit)s
    ) RETURNING chunk_id
), sentences AS (
    DELETE FROM knowledge_passagesentences WHERE chunk_id IN (SELECT chunk_id FROM gone)
)
SELECT count(*) FROM gone
"""
ANALYSE = """
ANALYZE knowledge_indexentry, knowledge_wholevector, knowledge_document, knowledge_document_sets,
    knowledge_documentversion (id, document_id), knowledge_chunk (id, version_id),
    knowledge_triple, knowledge_triplevector (triple_id, tenant_id, embedding_model)
"""
CHANGED = """
SELECT coalesce(sum(n_mod_since_analyze), 0), coalesce(sum(n_live_tup), 0) FROM pg_stat_user_tables
WHERE relname IN (
    'knowledge_indexentry', 'knowledge_document', 'knowledge_document_sets',
    'knowledge_triple', 'knowledge_triplevector'
)
"""


def rebuildable_indexes() -> list[str]:
    """Names of the indexes that need rebuilding now and then: vectors first, then words."""
    return [row[0] for row in fetch(REBUILT, {})]


def leftover_indexes() -> list[str]:
    """Names of invalid indexes that an interrupted rebuild left."""
    return [row[0] for row in fetch(LEFTOVERS, {})]


def index_size(name: str) -> int:
    """Bytes on disk."""
    return int(fetch(SIZE, {"name": name})[0][0])


def index_rebuild(name: str) -> None:
    """Rebuild an index without locking readers or writers. Call outside a transaction."""
    rebuild = sql.SQL("REINDEX INDEX CONCURRENTLY {}").format(sql.Identifier(name))
    if name == HNSW_INDEX:
        hnsw_options_apply(name)
        with memory_for_build():
            _alone(rebuild)
    else:
        _alone(rebuild)


def leftover_drop(name: str) -> None:
    """Drop an invalid index without locking readers or writers. Call outside a transaction."""
    _alone(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))


def terms_until(*, tenant_id: int, after: int, limit: int) -> int | None:
    """The last id of the next `limit` terms that no live entry contains; None if there are no more."""
    last = fetch(TERMS_AFTER, {"tenant": tenant_id, "after": after, "limit": limit})[0][0]
    return None if last is None else int(last)


def terms_purge(*, tenant_id: int, after: int, last: int) -> int:
    """Delete terms (after, last] that no entry contains. Call under the lock of the tenant's statistics."""
    return execute(ORPHANS, {"tenant": tenant_id, "after": after, "last": last})


def orphaned_terms_count() -> int:
    """How many terms no entry contains, of all tenants."""
    return int(fetch(ORPHANS_COUNT, {})[0][0])


# ── the HNSW index ────────────────────────────────────────────────────────────────────────────────


def hnsw_is_valid() -> bool:
    """Whether the index is there and can be used."""
    rows = fetch(STATE, {"name": HNSW_INDEX})
    return bool(rows and rows[0][0])


def hnsw_drop() -> None:
    """Drop the index, valid or not, without locking readers or writers. Call outside a transaction."""
    _alone(DROP.format(sql.Identifier(HNSW_INDEX)))


def hnsw_create() -> None:
    """Build the missing index beside readers and writers. Call outside a transaction."""
    m, ef = sql.Literal(settings.HNSW_M), sql.Literal(settings.HNSW_EF_CONSTRUCTION)
    with memory_for_build():
        _alone(CREATE.format(sql.Identifier(HNSW_INDEX), m, ef))


def entries_vacuum() -> None:
    """Free the space of moved rows for the next ones: a table twice as large takes twice the time to scan.

    Call outside a transaction.
    """
    _alone(sql.Composed([VACUUM]))


def hnsw_options_apply(name: str) -> None:
    """Set HNSW_M and HNSW_EF_CONSTRUCTION for the next build of an HNSW index; a short lock if they changed."""
    rows = fetch(STATE, {"name": name})
    options = {f"m={settings.HNSW_M}", f"ef_construction={settings.HNSW_EF_CONSTRUCTION}"}
    if rows and options - set(rows[0][1]):
        m, ef = sql.Literal(settings.HNSW_M), sql.Literal(settings.HNSW_EF_CONSTRUCTION)
        with connection.cursor() as cursor:
            cursor.execute(SET_OPTIONS.format(sql.Identifier(name), m, ef))


@contextmanager
def memory_for_build() -> Iterator[None]:
    """Set `maintenance_work_mem` of this connection to the size of the graph, at most INDEX_MEMORY_MB."""
    rows = int(fetch(MERGED, {})[0][0])
    megabytes = rows * (ROW_BYTES + 2 * settings.HNSW_M * LINK_BYTES) // (1024 * 1024)
    fetch(SET_MEMORY, {"value": f"{min(max(megabytes, LEAST_MB), settings.INDEX_MEMORY_MB)}MB"})
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(RESET_MEMORY)


def _alone(statement: sql.Composed) -> None:
    """Run a statement that must not be part of a transaction, however long it takes."""
    if connection.in_atomic_block:
        raise RuntimeError("indexes are built outside of transactions")
    with connection.cursor() as cursor:
        cursor.execute(statement)


# ── the tail outside of the HNSW index ────────────────────────────────────────────────────────────


def large_tenants(limit: int) -> list[int]:
    """Ids of tenants with more live entries than an exact scan should touch."""
    return [row[0] for row in fetch(LARGE_TENANTS, {"limit": limit})]


def tail_and_merged_count(tenants: list[int]) -> tuple[int, int]:
    """Entries of these tenants outside of the index, and in it. Reads all of them: for maintenance only."""
    tail, merged = fetch(PARTS, {"tenants": tenants})[0]
    return int(tail), int(merged)


def tail_merge(*, tenant_id: int, limit: int) -> int:
    """Move up to `limit` entries of the tail into the HNSW index; returns how many."""
    return execute(MERGE, {"tenant": tenant_id, "limit": limit})


def entries_purge(*, age_seconds: float, limit: int) -> int:
    """Delete entries whose version was retired or whose document was deleted longer ago than this; returns how many.

    The vectors of their passages' sentences go with them.
    """
    return int(fetch(PURGE, {"age": age_seconds, "limit": limit})[0][0])


def statistics_are_old(*, share: float, least: int) -> bool:
    """Whether so many rows have changed since the last ANALYZE that plans of Postgres may be bad."""
    changed, live = fetch(CHANGED, {})[0]
    return int(changed) > max(least, share * int(live))


def tables_analyse() -> None:
    """ANALYZE the tables that searches join; takes some hundred milliseconds in the background."""
    execute(ANALYSE, {})
