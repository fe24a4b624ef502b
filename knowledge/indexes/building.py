"""The HNSW index: dropped and built as a whole where that is faster than inserting row by row (D27, decision 010).

Searches go on meanwhile, exactly, since the planner asks whether the index is there. A build wants the whole graph in
memory; where it does not fit, it goes on many times slower.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection
from psycopg import sql

from knowledge.indexes.rows import fetch

NAME = "knowledge_entry_coarse"
ROW_BYTES = 1200  # of the graph in memory besides its links: the vector, its element and the allocator
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


def hnsw_is_valid() -> bool:
    """Whether the index is there and can be used."""
    found = fetch(STATE, {"name": NAME})
    return bool(found and found[0][0])


def hnsw_drop() -> None:
    """Drop the index, valid or not, without locking readers or writers. Call outside a transaction."""
    _alone(DROP.format(sql.Identifier(NAME)))


def hnsw_create() -> None:
    """Build the index, where there is none, beside readers and writers. Call outside a transaction."""
    m, ef = sql.Literal(settings.HNSW_M), sql.Literal(settings.HNSW_EF_CONSTRUCTION)
    with memory_for_build():
        _alone(CREATE.format(sql.Identifier(NAME), m, ef))


def entries_vacuum() -> None:
    """Give the room of rows that were moved to those that are moved next: a table twice as large is scanned in twice
    the time. Call outside a transaction.
    """
    _alone(sql.Composed([VACUUM]))


def hnsw_options_apply(name: str) -> None:
    """Have the next build of an HNSW index use HNSW_M and HNSW_EF_CONSTRUCTION; a short lock where they changed."""
    found = fetch(STATE, {"name": name})
    wanted = {f"m={settings.HNSW_M}", f"ef_construction={settings.HNSW_EF_CONSTRUCTION}"}
    if found and wanted - set(found[0][1]):
        m, ef = sql.Literal(settings.HNSW_M), sql.Literal(settings.HNSW_EF_CONSTRUCTION)
        with connection.cursor() as cursor:
            cursor.execute(SET_OPTIONS.format(sql.Identifier(name), m, ef))


@contextmanager
def memory_for_build() -> Iterator[None]:
    """`maintenance_work_mem` of this connection as large as the graph, within INDEX_MEMORY_MB."""
    rows = int(fetch(MERGED, {})[0][0])
    wanted = rows * (ROW_BYTES + 2 * settings.HNSW_M * LINK_BYTES) // (1024 * 1024)
    fetch(SET_MEMORY, {"value": f"{min(max(wanted, LEAST_MB), settings.INDEX_MEMORY_MB)}MB"})
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
