"""SQL of the graph of entities as one asker sees it.

A mention exists for the asker while its passage does; every query, limit and count here is under this one condition.
Rows are checked one by one behind an index, so that an entity of ten thousand mentions costs no more than its limit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from accounts.scope import Scope
from knowledge.indexes.graph_triples import entity_key
from knowledge.indexes.name_vectors import near_begin, near_sql, near_vector
from knowledge.indexes.statements import fetch, ids_text
from knowledge.indexes.visibility import Visible
from ragcore.graph.mentions import ATTRIBUTE
from ragcore.ports import FloatArray
from ragcore.text.lexicon import TermLexicon
from ragcore.types.graph import Node, Place

MOST_NAMES = 8  # other names of one entity
MOST_INSIDE = 6000  # places of all passages of one look

# LIMIT makes Postgres look at each mention by itself instead of reading all documents first
SEEN = """
CROSS JOIN LATERAL (
    SELECT 1 FROM knowledge_document d
    WHERE d.id = m.document_id AND d.live_version_id = m.version_id AND d.id IN ({visible}) LIMIT 1
) seen
CROSS JOIN LATERAL (SELECT 1 FROM knowledge_chunk c WHERE c.id = m.chunk_id AND c.retired IS NULL LIMIT 1) kept
"""
DECIDED = """
x.tenant_id = %(tenant)s AND x.undone IS NULL AND x.clearance <= %(clearance)s
    AND (x.knowledge_set_id IS NULL OR x.knowledge_set_id = ANY(%(sets)s))
"""
NOT_REJECTED = f"""
NOT EXISTS (SELECT 1 FROM knowledge_entitydecision x WHERE x.key = e.key AND x.kind = 'reject' AND {DECIDED})
"""  # noqa: S608 - constants
MENTIONED = f"(SELECT true FROM knowledge_mention m {SEEN} WHERE m.entity_id = e.id LIMIT 1)"  # noqa: S608
BUILT = """
SELECT EXISTS (
    SELECT 1 FROM knowledge_document d JOIN knowledge_entityreading r ON r.version_id = d.live_version_id
    WHERE r.mentions > 0 AND d.id IN ({visible})
)
"""
NAMED = f"""
SELECT e.id, e.key, e.name FROM knowledge_entity e
WHERE e.tenant_id = %(tenant)s AND e.key = ANY(%(keys)s::text[]) AND {NOT_REJECTED} AND {MENTIONED}
"""  # noqa: S608 - constants
SETTING = "SELECT set_config('pg_trgm.similarity_threshold', %(least)s, true)"
ALIKE = f"""
SELECT asked.key, near.id, near.key, near.name, near.likeness FROM unnest(%(keys)s::text[]) AS asked(key)
CROSS JOIN LATERAL (
    SELECT e.id, e.key, e.name, similarity(e.key, asked.key) AS likeness FROM knowledge_entity e
    WHERE e.tenant_id = %(tenant)s AND e.key %% asked.key AND {NOT_REJECTED} AND {MENTIONED}
    ORDER BY likeness DESC, e.id LIMIT %(limit)s
) near
"""  # noqa: S608 - constants
NEAR = near_sql("entities", columns="e.id, e.key, e.name", visible=f"{NOT_REJECTED} AND {MENTIONED}")
PLACE = "m.entity_id, m.chunk_id, m.document_id, m.start < 0, m.sentence_start, m.sentence_end"
PLACES = f"""
SELECT near.* FROM unnest(%(entities)s::bigint[]) AS asked(id) CROSS JOIN LATERAL (
    (SELECT {PLACE} FROM knowledge_mention m {SEEN} WHERE m.entity_id = asked.id AND m.start < 0 LIMIT %(heads)s)
    UNION ALL
    (SELECT {PLACE} FROM knowledge_mention m {SEEN} WHERE m.entity_id = asked.id AND m.start >= 0 LIMIT %(each)s)
) near
"""  # noqa: S608 - constants
INSIDE = f"""
SELECT DISTINCT {PLACE}, e.key, e.name FROM knowledge_mention m JOIN knowledge_entity e ON e.id = m.entity_id {SEEN}
WHERE m.chunk_id = ANY(%(chunks)s::bigint[]) AND m.start > {ATTRIBUTE} AND {NOT_REJECTED} LIMIT {MOST_INSIDE}
"""  # noqa: S608 - constants
DEGREES = f"""
SELECT asked.id, (
    SELECT count(*) FROM (SELECT 1 FROM knowledge_mention m {SEEN} WHERE m.entity_id = asked.id LIMIT %(most)s) counted
) FROM unnest(%(entities)s::bigint[]) AS asked(id)
"""  # noqa: S608 - constants
ALIASES = f"""
SELECT m.entity_id, m.other_id FROM knowledge_entityalias m {SEEN}
WHERE m.entity_id = ANY(%(entities)s::bigint[]) OR m.other_id = ANY(%(entities)s::bigint[]) LIMIT 1000
"""  # noqa: S608 - constants
BY_ID = f"""
SELECT e.id, e.key, e.name FROM knowledge_entity e
WHERE e.tenant_id = %(tenant)s AND e.id = ANY(%(entities)s::bigint[]) AND {NOT_REJECTED} AND {MENTIONED}
"""  # noqa: S608 - constants
PAIRS = f"""
SELECT x.kind, x.key, x.other_key FROM knowledge_entitydecision x
WHERE {DECIDED} AND x.kind IN ('merge', 'split') AND (x.key = ANY(%(keys)s) OR x.other_key = ANY(%(keys)s))
"""  # noqa: S608 - constants


@dataclass(frozen=True, slots=True)
class ScopedEntityGraph:
    """Implements `ragcore.ports.EntityGraph` for one asker.

    `sets`: those that are searched and that the asker may read: their owners' decisions count. `lexicon`: the
    published terms of the search, None where there are none. `clearance`: up to which decisions count. `model`: whose
    vectors of names are compared, "" for none.
    """

    scope: Scope
    visible: Visible
    sets: Sequence[int]
    clearance: int
    lexicon: TermLexicon | None = None
    model: str = ""

    def is_built(self) -> bool:
        """Whether any document that is searched has been read for entities and mentions some."""
        return bool(self._fetch(BUILT)[0][0])

    def named(self, keys: Sequence[str]) -> Mapping[str, Node]:
        """See `EntityGraph`."""
        distinct = [key for key in dict.fromkeys(keys) if key]
        return {row[1]: Node(*row) for row in self._fetch(NAMED, keys=distinct)} if distinct else {}

    @transaction.atomic
    def alike(self, keys: Sequence[str], *, least: float, limit: int) -> Mapping[str, Sequence[tuple[Node, float]]]:
        """See `EntityGraph`."""
        nodes_alike: dict[str, list[tuple[Node, float]]] = defaultdict(list)
        if keys:
            fetch(SETTING, {"least": str(least)})
            for key_of_question, number, key, name, likeness in self._fetch(ALIKE, keys=list(keys), limit=limit):
                nodes_alike[key_of_question].append((Node(number, key, name), float(likeness)))
        return nodes_alike

    @transaction.atomic
    def near(self, vector: FloatArray, *, least: float, limit: int) -> Sequence[tuple[Node, float]]:
        """See `EntityGraph`."""
        if not self.model:
            return []
        near_begin()
        rows = self._fetch(NEAR, vector=near_vector(vector), model=self.model, limit=limit)
        nodes = [(Node(number, key, name), float(cosine)) for number, key, name, cosine in rows if cosine >= least]
        return sorted(nodes, key=lambda node: (-node[1], node[0].id))

    def places(self, entities: Sequence[int], *, heads: int, each: int) -> Sequence[Place]:
        """See `EntityGraph`."""
        if not entities:
            return []
        rows = self._fetch(PLACES, entities=ids_text(entities), heads=heads, each=each)
        return list(dict.fromkeys(map(Place._make, rows)))

    def inside(self, chunks: Sequence[int]) -> tuple[Sequence[Place], Mapping[int, Node]]:
        """See `EntityGraph`."""
        rows = self._fetch(INSIDE, chunks=ids_text(chunks)) if chunks else []
        return [Place._make(row[:6]) for row in rows], {row[0]: Node(row[0], row[6], row[7]) for row in rows}

    def degrees(self, entities: Sequence[int], *, most: int) -> Mapping[int, int]:
        """See `EntityGraph`."""
        return dict(self._fetch(DEGREES, entities=ids_text(entities), most=most)) if entities else {}

    def other_names(self, nodes: Sequence[Node]) -> Mapping[int, Sequence[Node]]:
        """See `EntityGraph`. Only one step is taken: names of other names are not followed."""
        if not nodes:
            return {}
        merged, split = self._decisions(nodes)
        keys = {node.id: list(merged.get(node.key, ())) for node in nodes}
        for node in nodes:
            names = self.lexicon.alternatives(node.name) if self.lexicon is not None else ()
            keys[node.id] += map(entity_key, names)
        by_key = self.named([key for each in keys.values() for key in each])
        aliases: dict[int, dict[int, Node]] = {node.id: {} for node in nodes}
        for node in nodes:
            aliases[node.id] |= {by_key[key].id: by_key[key] for key in keys[node.id] if key in by_key}
        for number, other in self._told(nodes):
            aliases[number][other.id] = other
        return {
            node.id: [o for o in aliases[node.id].values() if o.id != node.id and (node.key, o.key) not in split][
                :MOST_NAMES
            ]
            for node in nodes
        }

    def _told(self, nodes: Sequence[Node]) -> list[tuple[int, Node]]:
        """Pairs that passages tell, from each of the nodes."""
        node_ids = {node.id for node in nodes}
        rows = self._fetch(ALIASES, entities=ids_text(node_ids))
        pairs = [pair for a, b in rows for pair in ((a, b), (b, a)) if pair[0] in node_ids]
        rows_by_id = self._fetch(BY_ID, entities=ids_text({b for _, b in pairs})) if pairs else []
        by_id = {row[0]: Node(*row) for row in rows_by_id}
        return [(a, by_id[b]) for a, b in dict.fromkeys(pairs) if b in by_id]

    def _decisions(self, nodes: Sequence[Node]) -> tuple[Mapping[str, set[str]], set[tuple[str, str]]]:
        """Keys that owners made one with each key, and pairs of keys that they said are two."""
        merged: dict[str, set[str]] = defaultdict(set)
        split: set[tuple[str, str]] = set()
        for kind, key, other in self._fetch(PAIRS, keys=[node.key for node in nodes]):
            if kind == "split":
                split |= {(key, other), (other, key)}
            else:
                merged[key].add(other)
                merged[other].add(key)
        return merged, split

    def _fetch(self, sql: str, **params: object) -> list[tuple]:  # type: ignore[type-arg]
        all_params = {
            "tenant": self.scope.tenant_id, "sets": list(self.sets), "clearance": self.clearance,
            **self.visible.params, **params,
        }  # fmt: skip
        return fetch(self.visible.applied(sql), all_params)
