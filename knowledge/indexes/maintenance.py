"""Rebuilding indexes beside their readers, and locks between maintenance and the rest (D28).

PostgreSQL manual, "REINDEX … CONCURRENTLY": the new index is built beside the old one and takes its place at the end;
searches and inserts go on. It cannot run inside a transaction, and what it leaves when it is interrupted is an invalid
index with the suffix `_ccnew` or `_ccold`, which costs every insert and serves no search.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from psycopg import sql

from knowledge.indexes.building import NAME as HNSW
from knowledge.indexes.building import hnsw_options_apply, memory_for_build
from knowledge.indexes.rows import execute, fetch

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
TRY_ALONE = "SELECT pg_try_advisory_lock(hashtextextended('ragsite.maintenance', 0))"
NO_LONGER_ALONE = "SELECT pg_advisory_unlock(hashtextextended('ragsite.maintenance', 0))"
SHARE_FILES = "SELECT pg_advisory_xact_lock_shared(hashtextextended('ragsite.files.' || %(tenant)s::bigint, 0))"
OWN_FILES = "SELECT pg_advisory_xact_lock(hashtextextended('ragsite.files.' || %(tenant)s::bigint, 0))"


def indexes_rebuilt() -> list[str]:
    """Names of the indexes that wear out: vectors first, then words."""
    return [row[0] for row in fetch(REBUILT, {})]


def leftovers_found() -> list[str]:
    """Names of invalid indexes that an interrupted rebuild has left."""
    return [row[0] for row in fetch(LEFTOVERS, {})]


def index_size(name: str) -> int:
    """Bytes on disk."""
    return int(fetch(SIZE, {"name": name})[0][0])


def index_rebuild(name: str) -> None:
    """Build an index anew without locking readers or writers. Call outside a transaction."""
    rebuild = sql.SQL("REINDEX INDEX CONCURRENTLY {}").format(sql.Identifier(name))
    if name == HNSW:
        hnsw_options_apply(name)
        with memory_for_build():
            _alone(rebuild)
    else:
        _alone(rebuild)


def leftover_drop(name: str) -> None:
    """Drop an invalid index without locking readers or writers. Call outside a transaction."""
    _alone(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))


def _alone(statement: sql.Composed) -> None:
    """Run a statement that must not be part of a transaction, however long it takes."""
    if connection.in_atomic_block:
        raise RuntimeError("indexes are rebuilt outside of transactions")
    with connection.cursor() as cursor:
        cursor.execute(statement)


@contextmanager
def maintenance_alone() -> Iterator[bool]:
    """Whether this connection may do maintenance; False while another one does. Held until the context ends."""
    held = bool(fetch(TRY_ALONE, {})[0][0])
    try:
        yield held
    finally:
        if held:
            fetch(NO_LONGER_ALONE, {})


def files_share(*, tenant_id: int) -> None:
    """Until the end of the transaction no stored file of the tenant is removed. Many may share at once."""
    fetch(SHARE_FILES, {"tenant": tenant_id})


def files_own(*, tenant_id: int) -> None:
    """Wait until nobody shares the tenant's files any more, and keep others from it until the transaction ends."""
    fetch(OWN_FILES, {"tenant": tenant_id})


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


def terms_until(*, tenant_id: int, after: int, limit: int) -> int | None:
    """The last id of the next `limit` terms that no live entry contains; None: there are no more."""
    last = fetch(TERMS_AFTER, {"tenant": tenant_id, "after": after, "limit": limit})[0][0]
    return None if last is None else int(last)


def terms_purge(*, tenant_id: int, after: int, last: int) -> int:
    """Delete terms (after, last] that no entry contains. Call under the lock of the tenant's statistics."""
    return execute(ORPHANS, {"tenant": tenant_id, "after": after, "last": last})


def terms_orphaned() -> int:
    """How many terms no entry contains, of all tenants."""
    return int(fetch(ORPHANS_COUNT, {})[0][0])
