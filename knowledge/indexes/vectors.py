"""Nearest neighbours in Postgres: exact while the tenant is small, HNSW plus an exactly scanned tail beyond (D27)."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection, transaction

from accounts.scope import Scope
from knowledge.indexes.counting import has_more_entries
from knowledge.indexes.rows import fetch
from knowledge.indexes.visibility import Visible
from knowledge.models.index import COARSE_DIMENSIONS
from ragcore.ports import FloatArray
from ragcore.types import Hit

EXACT_LIMIT = 60_000  # entries of a tenant up to which a scan beats the index at depth 1500
EF_SEARCH = 1000  # pgvector's maximum; iterative scans go deeper

EXACT = """
SELECT e.chunk_id, d.id, e.representation, 1 - (e.coarse <=> %(vector)s::halfvec) AS score
FROM knowledge_indexentry e
JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE e.tenant_id = %(tenant)s AND e.embedding_model = %(model)s AND d.id IN ({visible})
ORDER BY e.coarse <=> %(vector)s::halfvec, e.chunk_id
LIMIT %(limit)s
"""

APPROXIMATE = """
WITH near AS MATERIALIZED (
    SELECT e.chunk_id, d.id, e.representation, e.coarse <=> %(vector)s::halfvec AS distance
    FROM knowledge_indexentry e
    JOIN knowledge_document d ON d.live_version_id = e.version_id
    WHERE e.merged AND e.tenant_id = %(tenant)s AND e.embedding_model = %(model)s AND d.id IN ({visible})
    ORDER BY e.coarse <=> %(vector)s::halfvec
    LIMIT %(limit)s
), tail AS (
    SELECT e.chunk_id, d.id, e.representation, e.coarse <=> %(vector)s::halfvec AS distance
    FROM knowledge_indexentry e
    JOIN knowledge_document d ON d.live_version_id = e.version_id
    WHERE NOT e.merged AND e.tenant_id = %(tenant)s AND e.embedding_model = %(model)s AND d.id IN ({visible})
    ORDER BY distance
    LIMIT %(limit)s
)
SELECT chunk_id, id, representation, 1 - distance FROM (TABLE near UNION ALL TABLE tail) both_parts
ORDER BY distance, chunk_id
LIMIT %(limit)s
"""

FINE = """
SELECT e.chunk_id, d.id, e.representation, 1 - (e.fine <=> %(vector)s::halfvec) AS score
FROM knowledge_indexentry e
JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE e.chunk_id = ANY(%(chunks)s) AND e.embedding_model = %(model)s AND d.id IN ({visible})
ORDER BY score DESC, e.chunk_id
LIMIT %(limit)s
"""


def vector_text(vector: FloatArray) -> str:
    """The text form of a halfvec."""
    return "[" + ",".join(f"{x:.5g}" for x in vector.tolist()) + "]"


def coarse_search(*, scope: Scope, visible: Visible, vector: FloatArray, model: str, limit: int) -> list[Hit]:
    """Best first by cosine of the 384-d prefix; `vector` is float32[768]."""
    params = {
        **visible.params,
        "tenant": scope.tenant_id,
        "model": model,
        "vector": vector_text(vector[:COARSE_DIMENSIONS]),
        "limit": limit,
    }
    if not has_more_entries(tenant_id=scope.tenant_id, limit=EXACT_LIMIT):
        return _hits(fetch(EXACT.format(visible=visible.sql), params))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL hnsw.ef_search = {EF_SEARCH:d}")
        cursor.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
        return _hits(fetch(APPROXIMATE.format(visible=visible.sql), params))


def fine_search(
    *, scope: Scope, visible: Visible, vector: FloatArray, model: str, chunks: Sequence[int], limit: int
) -> list[Hit]:
    """Exact 768-d cosine among these chunks, best first."""
    del scope  # bound in `visible`; asked for so that no caller can forget it
    params = {**visible.params, "model": model, "vector": vector_text(vector), "chunks": list(chunks), "limit": limit}
    return _hits(fetch(FINE.format(visible=visible.sql), params))


def _hits(rows: list[tuple[int, int, str, float]]) -> list[Hit]:
    return [Hit(chunk=c, document=d, representation=r, score=float(s)) for c, d, r, s in rows]
