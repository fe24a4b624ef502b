"""Scores of given passages for a question, whether a search found them or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import epoch_of
from knowledge.indexes.lexical import sparse_text
from knowledge.indexes.rotations import rotated_params, rotated_sql, rotation_state, vector_text
from knowledge.indexes.statements import fetch
from knowledge.indexes.visibility import Visible
from ragcore.ports import FloatArray

EVIDENCE = """
SELECT e.chunk_id, e.representation, e.embedding_model = %(model)s OR v.entry_id IS NOT NULL,
    CASE WHEN e.embedding_model = %(model)s AND e.rotation = ANY(%(rotations)s)
        THEN 1 - (e.coarse <=> %(vector)s::halfvec) END,
    CASE WHEN v.embedding_model = %(whole_model)s THEN 1 - (v.vector <=> %(fine)s::halfvec) END,
    ARRAY(
        SELECT -(e.bm25 <#> asked.one::sparsevec)
        FROM unnest(%(terms)s::text[]) WITH ORDINALITY AS asked (one, place) ORDER BY asked.place
    )
FROM knowledge_indexentry e
LEFT JOIN knowledge_wholevector v ON v.entry_id = e.id AND v.embedding_model = %(whole_model)s
JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE e.chunk_id = ANY(%(chunks)s) AND d.id IN ({visible})
ORDER BY e.chunk_id, e.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryScores:
    """Scores of one entry of a passage for a question."""

    chunk: int
    representation: str
    is_of_model: bool  # False: its vectors come from another embedding model, so they cannot be compared
    coarse: float | None  # cosine of the 384-d prefix, -1 to 1; None without a vector to compare
    fine: float | None  # cosine of the whole vector
    weights: tuple[float, ...]  # document side of BM25 of each term, 0 if the entry does not contain it


def entry_scores_load(
    *,
    scope: Scope,
    visible: Visible,
    chunks: Sequence[int],
    terms: Sequence[int],
    vector: FloatArray | None,
    model: str,
) -> list[EntryScores]:
    """Every entry of these passages that the asker may see; `terms` are ids, `vector` float32[768] or longer."""
    if not chunks:
        return []
    state = rotation_state(tenant_id=scope.tenant_id, model=model, epoch=epoch_of(scope=scope, visible=visible))
    params = {
        **visible.params,
        "model": model,
        "whole_model": model,
        "rotations": list(state.in_use),
        **({"vector": None} if vector is None else rotated_params(vector, state)),
        "fine": None if vector is None else vector_text(vector),
        "terms": [sparse_text({term: 1.0}) for term in terms],
        "chunks": list(chunks),
    }
    sql = EVIDENCE if vector is None else rotated_sql(EVIDENCE, state)
    rows = fetch(visible.applied(sql), params)
    return [
        EntryScores(
            chunk=chunk,
            representation=name,
            is_of_model=same,
            coarse=coarse,
            fine=fine,
            weights=tuple(weights),
        )
        for chunk, name, same, coarse, fine, weights in rows
    ]
