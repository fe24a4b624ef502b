"""Vectors of another embedding model for entries that exist, beside readers and writers (decision 031).

Each entry gets a further row in `knowledge_wholevector`, whose key holds the model. Searches of the model in use see
none of them. After the switch the coarse vectors of entries are still the former model's: until index maintenance has
moved them (`knowledge.indexes.rotation_switch`), `is_behind` lets searches compare whole vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from knowledge.indexes.binary_vectors import halfvecs_read, sparsevec_read
from knowledge.indexes.copy import EntryRow, whole_vectors_copy
from knowledge.indexes.rotations import rotation_for_new
from knowledge.indexes.statements import embedder_vectors_lock, execute, fetch
from ragcore.ports import FloatArray

MISSING_OF = """
NOT EXISTS (SELECT 1 FROM knowledge_wholevector v WHERE v.entry_id = e.id AND v.embedding_model = %(model)s)
"""
TEXTS = """
SELECT e.id, e.representation, x.text, d.title, c.heading_path, c.text,
    CASE WHEN x.text IS NULL AND e.representation <> 'body' THEN ARRAY(
        SELECT t.text FROM unnest(tsvector_to_array(e.lexemes)) AS lexeme JOIN knowledge_term t ON t.id = lexeme::bigint
        ORDER BY t.id
    ) END
FROM knowledge_indexentry e
JOIN knowledge_chunk c ON c.id = e.chunk_id
JOIN knowledge_documentversion n ON n.id = e.version_id
JOIN knowledge_document d ON d.id = n.document_id
LEFT JOIN knowledge_entrytext x ON x.entry_id = e.id
"""
WITHOUT = f"""
{TEXTS}
WHERE e.id > %(after)s AND {MISSING_OF}
ORDER BY e.id LIMIT %(limit)s
"""  # noqa: S608 - constants
HELD = f"""
SELECT e.id, e.chunk_id, e.version_id, e.tenant_id, e.representation, e.language, e.length, sparsevec_send(e.bm25)
FROM knowledge_indexentry e WHERE e.id = ANY(%(ids)s) AND {MISSING_OF}
ORDER BY e.id FOR KEY SHARE OF e
"""  # noqa: S608 - constants
COUNT = f"""
SELECT count(*) FILTER (WHERE {MISSING_OF}), count(*) FROM knowledge_indexentry e
"""  # noqa: S608 - constants
ANY_MISSING = f"""
SELECT EXISTS (SELECT 1 FROM knowledge_indexentry e WHERE {MISSING_OF}),
    EXISTS (SELECT 1 FROM knowledge_triple t WHERE NOT EXISTS (
        SELECT 1 FROM knowledge_triplevector v WHERE v.triple_id = t.id AND v.embedding_model = %(model)s
    ))
"""  # noqa: S608 - constants
TENANTS = "SELECT DISTINCT tenant_id FROM knowledge_indexentry ORDER BY tenant_id"
BEHIND = "UPDATE knowledge_tenantvectors SET is_behind = true WHERE tenant_id = ANY(%(tenants)s) AND NOT is_behind"
NOTE_BACKEND = """
INSERT INTO knowledge_backendchange (tenant_id, document_id, attempts, not_before)
SELECT DISTINCT e.tenant_id, n.document_id, 0, now() FROM knowledge_indexentry e
JOIN knowledge_tenantbackend b ON b.tenant_id = e.tenant_id
JOIN knowledge_documentversion n ON n.id = e.version_id
WHERE e.id = ANY(%(ids)s)
"""
COPY_AGAIN = "UPDATE knowledge_tenantbackend SET ready = NULL, after = 0"
PAIRED = """
SELECT halfvec_send(a.vector), halfvec_send(b.vector), c.text
FROM knowledge_wholevector a
JOIN knowledge_wholevector b ON b.entry_id = a.entry_id AND b.embedding_model = %(other)s
JOIN knowledge_document d ON d.live_version_id = a.version_id
JOIN knowledge_chunk c ON c.id = a.chunk_id
WHERE a.embedding_model = %(model)s AND a.tenant_id = %(tenant)s AND a.representation = 'body' AND d.deleted IS NULL
ORDER BY hashint8(a.entry_id) LIMIT %(limit)s
"""
DROP = """
WITH page AS (
    SELECT {key} AS id FROM {table} WHERE {key} > %(after)s AND embedding_model = %(model)s
    ORDER BY {key} LIMIT %(limit)s
), gone AS (
    DELETE FROM {table} v USING page WHERE v.{key} = page.id AND v.embedding_model = %(model)s
)
SELECT count(*), coalesce(max(id), 0) FROM page
"""
DROPS = {
    "entries": DROP.format(table="knowledge_wholevector", key="entry_id"),
    "facts": DROP.format(table="knowledge_triplevector", key="triple_id"),
    "sentences": DROP.format(table="knowledge_passagesentences", key="chunk_id"),
}


@dataclass(frozen=True, slots=True)
class TextWithout:
    """The text of an entry that has no vector of a model."""

    entry: int
    stored: str | None  # what was embedded; None: the passage's own text, or of an entry of an earlier version
    title: str
    heading_path: Sequence[str]
    passage: str
    words: Sequence[str] | None  # of such an entry: all that is left of its text


def texts_without(*, model: str, after: int, limit: int) -> list[TextWithout]:
    """The next entries above an id without a vector of the model, by id, of all tenants."""
    return texts_of_rows(fetch(WITHOUT, {"model": model, "after": after, "limit": limit}))


def texts_of_rows(rows: Sequence[tuple[Any, ...]]) -> list[TextWithout]:
    """Of a statement that begins with TEXTS."""
    return [TextWithout(row[0], row[2], row[3], row[4], row[5], row[6]) for row in rows]


def vectors_fill(*, model: str, ids: Sequence[int], vectors: FloatArray, is_live: bool = False) -> int:
    """Store float32[n, 768] of entries; those that are gone or have one are left out. Call in a transaction.

    `is_live`: the model is in use, so that searches and the other backend must know of these.
    """
    embedder_vectors_lock()
    held = fetch(HELD, {"model": model, "ids": list(ids)})
    for tenant in sorted({row[3] for row in held}):
        rotation_for_new(tenant_id=tenant, model=model)  # its rotation stays as it is
    by_id = dict(zip(ids, vectors, strict=True))
    rows = [
        EntryRow(
            chunk_id=row[1],
            version_id=row[2],
            tenant_id=row[3],
            representation=row[4],
            language=row[5],
            length=row[6],
            vector=by_id[row[0]],
            weights=sparsevec_read(row[7]),
            embedding_model=model,
        )
        for row in held
    ]
    whole_vectors_copy([(row[0], entry) for row, entry in zip(held, rows, strict=True)])
    if is_live and held:
        execute(BEHIND, {"tenants": sorted({row[3] for row in held})})
        execute(NOTE_BACKEND, {"ids": [row[0] for row in held]})
    return len(rows)


def newest_entry() -> int:
    """The highest id of an entry; 0 where there is none."""
    return int(fetch("SELECT coalesce(max(id), 0) FROM knowledge_indexentry", {})[0][0])


def missing_count(*, model: str) -> tuple[int, int]:
    """Entries without a vector of the model, and all. Reads the whole index."""
    missing, total = fetch(COUNT, {"model": model})[0]
    return int(missing), int(total)


def is_complete(*, model: str) -> bool:
    """Whether every entry and every fact has a vector of the model. Sure only under `embedder_lock_exclusive`."""
    entries, triples = fetch(ANY_MISSING, {"model": model})[0]
    return not entries and not triples


def coarse_behind(*, model: str) -> list[int]:
    """From the commit on, whole vectors of a model are compared in all tenants, whose ids are returned.

    Its coarse vectors are made by index maintenance. Another search backend is filled anew. Call in a transaction.
    """
    tenants = [int(row[0]) for row in fetch(TENANTS, {})]
    for tenant in tenants:
        rotation_for_new(tenant_id=tenant, model=model)
    execute(BEHIND, {"tenants": tenants})
    execute(COPY_AGAIN, {})
    return tenants


@dataclass(frozen=True, slots=True)
class PairedPassages:
    """Passages with their vectors of two models: row i of each."""

    one: FloatArray  # float32[n, 768]
    other: FloatArray  # float32[n, 768]
    texts: Sequence[str]


def passages_paired(*, tenant_id: int, model: str, other: str, limit: int) -> PairedPassages:
    """Bodies of up to `limit` live passages of a tenant, the same ones each time."""
    rows = fetch(PAIRED, {"tenant": tenant_id, "model": model, "other": other, "limit": limit})
    if not rows:
        return PairedPassages(np.zeros((0, 768), np.float32), np.zeros((0, 768), np.float32), [])
    return PairedPassages(
        halfvecs_read([r[0] for r in rows]), halfvecs_read([r[1] for r in rows]), [r[2] for r in rows]
    )


def vectors_drop(*, model: str, of: str, after: int, limit: int) -> tuple[int, int]:
    """Delete the next `limit` vectors of a model `of` "entries", "facts" or "sentences", by id.

    Returns how many there were, and the id up to which none is left.
    """
    count, last = fetch(DROPS[of], {"model": model, "after": after, "limit": limit})[0]
    return int(count), int(last)
