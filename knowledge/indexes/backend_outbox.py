"""What another search backend needs from Postgres: the outbox of changed documents, and live entries to copy.

Statement triggers (migration 0005) write the outbox within the transaction of every change of what people can find.
They are disabled until a tenant is moved. `ALTER TABLE … TRIGGER` waits for running writers, so whatever is not in the
outbox was committed before.

Entries are read in binary form; the formats are those of `knowledge.indexes.copy`, in the other direction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from psycopg import Cursor

from knowledge.indexes.binary_vectors import halfvec_read, sparsevec_read
from knowledge.indexes.statements import execute, fetch
from ragcore.ports import FloatArray

# ── outbox ────────────────────────────────────────────────────────────────────────────────────────


WATCHES = {
    "knowledge_document": ("knowledge_note_document_update", "knowledge_note_document_delete"),
    "knowledge_document_sets": ("knowledge_note_set_insert", "knowledge_note_set_delete"),
    "knowledge_indexentry": (
        "knowledge_note_entry_insert",
        "knowledge_note_entry_update",
        "knowledge_note_entry_delete",
    ),
}
NAMES = [name for names in WATCHES.values() for name in names]
WATCHED = """
SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = current_schema()::regnamespace AND t.tgname = ANY(%(names)s) AND t.tgenabled <> 'D'
"""
TAKE = """
SELECT id, document_id, attempts FROM knowledge_backendchange
WHERE not_before <= now() AND (
    tenant_id IN (SELECT tenant_id FROM knowledge_tenantbackend WHERE ready IS NOT NULL) OR tenant_id = %(tenant)s
)
ORDER BY id LIMIT %(limit)s
"""
DONE = "DELETE FROM knowledge_backendchange WHERE id = ANY(%(ids)s)"
PUT_OFF = """
UPDATE knowledge_backendchange SET attempts = attempts + 1, not_before = now() + make_interval(secs => %(seconds)s)
WHERE id = ANY(%(ids)s)
"""
FORGET = """
DELETE FROM knowledge_backendchange WHERE tenant_id NOT IN (SELECT tenant_id FROM knowledge_tenantbackend)
"""
COMPACT = """
DELETE FROM knowledge_backendchange c USING (
    SELECT document_id, max(id) AS id FROM knowledge_backendchange GROUP BY document_id
) last WHERE c.document_id = last.document_id AND c.id < last.id
"""
WAITING = """
SELECT count(DISTINCT document_id), count(DISTINCT document_id) FILTER (WHERE attempts > 0)
FROM knowledge_backendchange WHERE tenant_id = %(tenant)s
"""

COLUMNS = """
SELECT e.id, e.chunk_id, d.id, e.version_id, e.tenant_id, d.clearance, e.representation, e.language,
    v.embedding_model, d.tags,
    ARRAY(SELECT s.knowledgeset_id FROM knowledge_document_sets s WHERE s.document_id = d.id ORDER BY 1),
    halfvec_send(v.vector), sparsevec_send(e.bm25)
FROM knowledge_indexentry e
JOIN knowledge_wholevector v ON v.entry_id = e.id AND v.embedding_model = %(model)s
JOIN knowledge_document d ON d.live_version_id = e.version_id
"""
OF_TENANT = f"""{COLUMNS}
WHERE e.tenant_id = %(tenant)s AND d.deleted IS NULL AND e.id > %(after)s
ORDER BY e.id LIMIT %(limit)s
"""
OF_DOCUMENTS = f"""{COLUMNS}
WHERE d.id = ANY(%(documents)s) AND d.deleted IS NULL AND e.id > %(after)s
ORDER BY e.id LIMIT %(limit)s
"""
COUNT = """
SELECT count(*), count(*) FILTER (WHERE e.id <= %(after)s), coalesce(max(e.id), 0) FROM knowledge_indexentry e
JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE e.tenant_id = %(tenant)s AND d.deleted IS NULL
"""
IDS = """
SELECT e.id FROM knowledge_indexentry e
JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE e.tenant_id = %(tenant)s AND d.deleted IS NULL AND e.id > %(after)s AND e.id <= %(last)s
"""
IDS_OF_DOCUMENTS = """
SELECT e.id FROM knowledge_indexentry e
JOIN knowledge_wholevector v ON v.entry_id = e.id AND v.embedding_model = %(model)s
JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE d.id = ANY(%(documents)s) AND d.deleted IS NULL
"""
SAMPLE = """
SELECT e.id FROM knowledge_indexentry e TABLESAMPLE BERNOULLI (%(percent)s)
JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE e.tenant_id = %(tenant)s AND d.deleted IS NULL LIMIT %(limit)s
"""
OF_ENTRIES = f"{COLUMNS} WHERE e.id = ANY(%(ids)s) AND d.deleted IS NULL"


@dataclass(frozen=True, slots=True)
class Change:
    """A changed document; the backend has refused it `attempts` times."""

    id: int
    document_id: int
    attempts: int


def outbox_watch(*, on: bool) -> None:
    """Start or stop recording changes. Call outside transactions: it locks one table at a time."""
    for table, names in WATCHES.items():
        execute(f"ALTER TABLE {table} {', '.join(f'{_able(on)} TRIGGER {name}' for name in names)}", {})


def _able(on: bool) -> str:
    return "ENABLE" if on else "DISABLE"


def outbox_is_watching() -> bool:
    """Whether all changes are recorded."""
    return int(fetch(WATCHED, {"names": NAMES})[0][0]) == len(NAMES)


def changes_take(*, limit: int, tenant_id: int | None = None) -> list[Change]:
    """The oldest changes of tenants that another backend searches, and of `tenant_id`; they stay until `changes_done`.

    Read the documents afterwards: then they are at least as new as the changes. Call under `backend_try_lock`.
    """
    return [Change(*row) for row in fetch(TAKE, {"limit": limit, "tenant": tenant_id})]


def changes_done(ids: Sequence[int]) -> None:
    execute(DONE, {"ids": list(ids)})


def changes_put_off(ids: Sequence[int], *, seconds: float) -> None:
    """Try refused changes again after some seconds."""
    execute(PUT_OFF, {"ids": list(ids), "seconds": seconds})


def changes_forget() -> int:
    """Delete changes of tenants that are searched in Postgres."""
    return execute(FORGET, {})


def changes_compact() -> int:
    """Keep one change per document: enough while nobody applies them."""
    return execute(COMPACT, {})


def changes_waiting(*, tenant_id: int) -> tuple[int, int]:
    """Documents of a tenant with changes to be applied, and how many of those the backend has refused."""
    waiting, refused = fetch(WAITING, {"tenant": tenant_id})[0]
    return int(waiting), int(refused)


# ── live entries ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveEntry:
    """An index entry for another backend. `vector` is float32[768], `weights` the document side of BM25 by term id."""

    id: int
    chunk_id: int
    document_id: int
    version_id: int
    tenant_id: int
    clearance: int
    representation: str
    language: str
    embedding_model: str
    tags: Sequence[str]
    sets: Sequence[int]
    vector: FloatArray
    weights: Mapping[int, float]


def entries_of_tenant(*, tenant_id: int, model: str, after: int, limit: int) -> list[LiveEntry]:
    """The next live entries of a tenant after an id, by id, with their vectors of one model."""
    return _entries(OF_TENANT, {"model": model, "tenant": tenant_id, "after": after, "limit": limit})


def entries_of_documents(*, document_ids: Sequence[int], model: str, after: int, limit: int) -> list[LiveEntry]:
    """The next live entries of documents after an id, by id, with their vectors of one model."""
    return _entries(OF_DOCUMENTS, {"model": model, "documents": list(document_ids), "after": after, "limit": limit})


def entries_sample(*, tenant_id: int, model: str, total: int, limit: int) -> list[LiveEntry]:
    """Some live entries of a tenant, at random."""
    percent = min(100.0, 100.0 * 4 * limit / max(total, 1))
    ids = [row[0] for row in fetch(SAMPLE, {"tenant": tenant_id, "percent": percent, "limit": limit})]
    return _entries(OF_ENTRIES, {"model": model, "ids": ids})


@dataclass(frozen=True, slots=True)
class EntryCounts:
    """Live entries of a tenant: all, those up to an id, and the highest id."""

    total: int
    before: int
    last: int


def entry_counts(*, tenant_id: int, after: int = 0) -> EntryCounts:
    """`before` counts the entries up to the id `after`."""
    return EntryCounts(*fetch(COUNT, {"tenant": tenant_id, "after": after})[0])


def entry_ids(*, tenant_id: int, after: int, last: int) -> set[int]:
    """Ids of the live entries of a tenant in (after, last]."""
    return {row[0] for row in fetch(IDS, {"tenant": tenant_id, "after": after, "last": last})}


def entry_ids_of_documents(*, document_ids: Sequence[int], model: str) -> set[int]:
    """Ids of the live entries of documents that have a vector of the model."""
    return {row[0] for row in fetch(IDS_OF_DOCUMENTS, {"documents": list(document_ids), "model": model})}


def _entries(sql: str, params: Mapping[str, Any]) -> list[LiveEntry]:
    connection.ensure_connection()
    with Cursor(connection.connection) as cursor:  # Django's own cursors read text
        cursor.execute(sql, params, binary=True)
        return [_entry(row) for row in cursor.fetchall()]


def _entry(row: tuple[Any, ...]) -> LiveEntry:
    return LiveEntry(
        id=row[0],
        chunk_id=row[1],
        document_id=row[2],
        version_id=row[3],
        tenant_id=row[4],
        clearance=row[5],
        representation=row[6],
        language=row[7],
        embedding_model=row[8],
        tags=row[9],
        sets=row[10],
        vector=halfvec_read(row[11]),
        weights=sparsevec_read(row[12]),
    )
