"""SQL of the vectors of names: of entities that documents mention, and of the ends of facts.

A vector says nothing about who may know of its name: what is near a question is looked up under the rights of the asker
(`knowledge.indexes.entity_graph`, `knowledge.indexes.graph_triples`). Rows go with their name, by the database itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from knowledge.indexes.rotations import vector_text
from knowledge.indexes.statements import execute, fetch
from ragcore.graph.ports import prefix
from ragcore.ports import FloatArray

NameKind = Literal["entities", "facts"]
LEAST, MOST = 2, 80  # characters of a name that a question may mean in other words
SCAN_SETTINGS = """
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '40', true),
    set_config('hnsw.max_scan_tuples', '4000', true)
"""
TABLES = {
    "entities": ("knowledge_entityvector", "entity_id", "knowledge_entity"),
    "facts": ("knowledge_triplenamevector", "name_id", "knowledge_triplename"),
}
# Letters of a number or an abbreviation mean nothing, and a name that one passage mentions in passing is found with it.
WANTED_ENTITY = """
p.kind IN ('term', 'title') OR (p.kind = 'name' AND EXISTS (
    SELECT 1 FROM knowledge_mention m WHERE m.entity_id = p.id
        AND m.chunk_id > (SELECT min(f.chunk_id) FROM knowledge_mention f WHERE f.entity_id = p.id)
))
"""
PAGE = """
WITH page AS (
    SELECT n.* FROM {names} n WHERE n.id > %(after)s ORDER BY n.id LIMIT %(limit)s
)
SELECT p.id, p.tenant_id, p.key, length(p.key) BETWEEN %(least)s AND %(most)s AND ({condition}) AND NOT EXISTS (
    SELECT 1 FROM {vectors} v WHERE v.{id} = p.id AND v.embedding_model = %(model)s
) FROM page p ORDER BY p.id
"""
# nearest first, until `limit` names are found that the asker may know of: {visible} is that condition
NEAR = """
SELECT {columns}, 1 - (v.vector <=> %(vector)s::halfvec) AS cosine
FROM {vectors} v JOIN {names} e ON e.id = v.{id}
WHERE v.tenant_id = %(tenant)s AND v.embedding_model = %(model)s AND {visible}
ORDER BY v.vector <=> %(vector)s::halfvec LIMIT %(limit)s
"""
ADD = """
INSERT INTO {vectors} ({id}, tenant_id, embedding_model, vector)
SELECT a.id, a.tenant, %(model)s, a.vector::halfvec
FROM unnest(%(ids)s::bigint[], %(tenants)s::bigint[], %(vectors)s::text[]) AS a(id, tenant, vector)
JOIN {names} n ON n.id = a.id
ON CONFLICT ({id}, embedding_model) DO UPDATE SET vector = EXCLUDED.vector
"""
ANY_OTHER = "SELECT EXISTS (SELECT 1 FROM {vectors} WHERE embedding_model <> %(model)s)"
DROP_OTHERS = """
DELETE FROM {vectors} v USING (
    SELECT {id}, embedding_model FROM {vectors} WHERE embedding_model <> %(model)s LIMIT %(limit)s
) gone WHERE v.{id} = gone.{id} AND v.embedding_model = gone.embedding_model
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePage:
    """Names by id up to `last`, 0 where there are none; `to_embed`: (id, tenant, name) of those that need a vector."""

    to_embed: Sequence[tuple[int, int, str]]
    last: int


def names_without_vector(*, of: NameKind, model: str, after: int, limit: int) -> NamePage:
    """The next `limit` names behind an id, of all tenants."""
    condition = WANTED_ENTITY if of == "entities" else "true"
    params = {"model": model, "after": after, "limit": limit, "least": LEAST, "most": MOST}
    rows = fetch(_sql(PAGE, of, condition=condition), params)
    return NamePage(to_embed=[row[:3] for row in rows if row[3]], last=rows[-1][0] if rows else 0)


def name_vectors_add(rows: Sequence[tuple[int, int, str]], vectors: FloatArray, *, of: NameKind, model: str) -> None:
    """Store float32[n, 768] of names; those that are gone meanwhile are left out."""
    params = {
        "model": model, "ids": [row[0] for row in rows], "tenants": [row[1] for row in rows],
        "vectors": [vector_text(prefix(vector)) for vector in vectors],
    }  # fmt: skip
    execute(_sql(ADD, of), params)


def name_vectors_of_others(*, of: NameKind, model: str) -> bool:
    """Whether there are vectors of another model."""
    return bool(fetch(_sql(ANY_OTHER, of), {"model": model})[0][0])


def name_vectors_drop_others(*, of: NameKind, model: str, limit: int) -> None:
    """Delete up to `limit` vectors of other models."""
    execute(_sql(DROP_OTHERS, of), {"model": model, "limit": limit})


def near_sql(of: NameKind, *, columns: str, visible: str) -> str:
    """SQL for the names nearest to a vector, `e`; its parameters: tenant, model, vector (`near_vector`), limit."""
    vectors, column, names = TABLES[of]
    return NEAR.format(columns=columns, vectors=vectors, names=names, id=column, visible=visible)


def near_begin() -> None:
    """Have the rest of the transaction read on where what is nearest may not be seen, up to some thousand names."""
    fetch(SCAN_SETTINGS, {})


def near_vector(vector: FloatArray) -> str:
    """float32[768] as it is compared."""
    return vector_text(prefix(vector))


def _sql(template: str, of: NameKind, condition: str = "") -> str:
    vectors, column, names = TABLES[of]
    return template.format(vectors=vectors, id=column, names=names, condition=condition)
