"""Evidence from use of the candidates of one search, and storing what a night has learnt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from psycopg.types.json import Jsonb

from accounts.scope import Scope
from knowledge.indexes.rotations import vector_text
from knowledge.indexes.statements import execute, fetch, ids_text
from ragcore.ports import FloatArray
from ragcore.types import UseHint

# The sets that are asked, without those that say no themselves: where several are asked the site decides for all.
NEAR = """
SELECT e.chunk_id, e.value, near.cosine, s.floor, e.people, e.shown, e.opened, e.helpful, e.unhelpful
FROM knowledge_useevidence e
JOIN knowledge_usesummary s ON s.knowledge_set_id = e.knowledge_set_id AND s.is_enough AND s.model = e.model
JOIN knowledge_knowledgeset k ON k.id = e.knowledge_set_id
CROSS JOIN LATERAL (SELECT 1 - (e.vector <=> %(vector)s::halfvec) AS cosine) near
WHERE e.chunk_id = ANY(%(chunks)s::bigint[]) AND e.knowledge_set_id = ANY(%(sets)s::bigint[])
  AND e.tenant_id = %(tenant)s AND e.model = %(model)s AND near.cosine > s.floor
  AND (cardinality(%(sets)s::bigint[]) = 1 OR coalesce((k.options->'retrieval'->>'use_shift')::float, 1) > 0)
ORDER BY e.chunk_id, near.cosine DESC, e.id
"""
EMPTY = "DELETE FROM knowledge_useevidence WHERE knowledge_set_id = %(set)s"
OF_DOCUMENTS = "DELETE FROM knowledge_useevidence WHERE document_id = ANY(%(documents)s::bigint[])"
# Only passages that are searched now: what was taken away meanwhile is not learnt about again.
STORE = """
INSERT INTO knowledge_useevidence
    (tenant_id, knowledge_set_id, document_id, chunk_id, model, vector, value, people, shown, opened, helpful,
     unhelpful)
SELECT d.tenant_id, %(set)s, d.id, c.id, %(model)s, one.vector::halfvec, one.value, one.people, one.shown, one.opened,
       one.helpful, one.unhelpful
FROM jsonb_to_recordset(%(rows)s) AS one (
    passage bigint, vector text, value float, people int, shown int, opened int, helpful int, unhelpful int)
JOIN knowledge_chunk c ON c.id = one.passage AND c.retired IS NULL
JOIN knowledge_document d ON d.live_version_id = c.version_id AND d.deleted IS NULL
JOIN knowledge_document_sets held ON held.document_id = d.id AND held.knowledgeset_id = %(set)s
"""
STORED_AT_ONCE = 500


def use_evidence_load(
    *, scope: Scope, sets: Sequence[int], vector: FloatArray, model: str, chunks: Iterable[int]
) -> list[UseHint]:
    """Evidence of these passages for questions similar to one with this vector, float32[768], most similar first."""
    params = {
        "tenant": scope.tenant_id,
        "sets": ids_text(sets),
        "chunks": ids_text(chunks),
        "model": model,
        "vector": vector_text(vector),
    }
    return [
        UseHint(
            chunk=chunk,
            value=value,
            nearness=min(max((cosine - floor) / max(1.0 - floor, 1e-6), 0.0), 1.0),
            people=people,
            shown=times_shown,
            opened=opened,
            helpful=helpful,
            unhelpful=unhelpful,
        )
        for chunk, value, cosine, floor, people, times_shown, opened, helpful, unhelpful in fetch(NEAR, params)
    ]


def use_evidence_replace(*, set_id: int, model: str, rows: Sequence[dict[str, object]]) -> int:
    """Put this evidence of a set in the place of the old one; returns how much of it is of passages that are searched.

    `rows`: as `STORE` reads them. Needs a transaction.
    """
    execute(EMPTY, {"set": set_id})
    return sum(
        execute(STORE, {"set": set_id, "model": model, "rows": Jsonb(list(rows[start : start + STORED_AT_ONCE]))})
        for start in range(0, len(rows), STORED_AT_ONCE)
    )


def use_evidence_delete(*, documents: Iterable[int]) -> int:
    """Remove the evidence of documents."""
    return execute(OF_DOCUMENTS, {"documents": ids_text(documents)})
