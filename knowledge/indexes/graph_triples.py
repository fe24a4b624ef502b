"""SQL of facts: loading by COPY, search by words and by vectors, neighbours.

Whether the asker may see a fact is one condition, part of every query here: an imported fact is visible with its set, a
fact of a passage with the live version of its document. Numbers that a search returns or weighs with are counted under
the same condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b, sha256
from typing import Any

from django.db import connection, transaction

from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.name_vectors import near_begin, near_sql, near_vector
from knowledge.indexes.rotations import vector_text
from knowledge.indexes.statements import execute, fetch
from knowledge.indexes.triple_words import (
    BY_WORDS,
    COLUMNS,
    FREQUENCIES,
    MAX_RATED,
    MAX_TERM_CHARACTERS,
    MAX_TERMS,
    VISIBLE,
    lexeme,
    term_weights,
    words_queries,
)
from knowledge.indexes.visibility import Visible
from knowledge.models.graph import KEY_CHARACTERS
from ragcore.graph.ports import TripleHit, prefix
from ragcore.graph.triples import Triple, name_key
from ragcore.ports import FloatArray, Tokenizer

ALIKE = 0.4  # trigram similarity of names that are compared letter by letter
MOST_ALIKE = 6  # of one name
MOST_EDGES = 200  # of one entity in each direction

BY_MEANING = f"""
SELECT {COLUMNS}, 1 - (v.vector <=> %(vector)s::halfvec) AS cosine
FROM knowledge_triplevector v JOIN knowledge_triple t ON t.id = v.triple_id
WHERE v.tenant_id = %(tenant)s AND v.embedding_model = %(model)s AND {VISIBLE}
ORDER BY v.vector <=> %(vector)s::halfvec LIMIT %(limit)s
"""  # noqa: S608 - constants
MEANINGS = f"""
SELECT t.id, 1 - (v.vector <=> %(vector)s::halfvec)
FROM knowledge_triplevector v JOIN knowledge_triple t ON t.id = v.triple_id
WHERE v.triple_id = ANY(%(ids)s) AND v.embedding_model = %(model)s AND {VISIBLE}
"""  # noqa: S608 - constants
# with LIMIT, so that each name is looked up: EXISTS lets Postgres read all facts into a hash table instead
NAMES = f"""
SELECT key FROM unnest(%(keys)s::text[]) AS asked(key) WHERE
    (SELECT true FROM knowledge_triple t WHERE t.subject_key = asked.key AND {VISIBLE} LIMIT 1) OR
    (SELECT true FROM knowledge_triple t WHERE t.object_key = asked.key AND {VISIBLE} LIMIT 1)
"""  # noqa: S608 - constants
# with LIMIT inside, so that each name is looked up by the index
UNKNOWN_ALIKE = """
SELECT asked.name, near.key FROM unnest(%(names)s::text[]) AS asked(name) CROSS JOIN LATERAL (
    SELECT n.key FROM knowledge_triplename n
    WHERE n.tenant_id = %(tenant)s AND n.key %% asked.name
    ORDER BY similarity(n.key, asked.name) DESC, n.key LIMIT %(limit)s
) near
"""
NEAR_NAMES = near_sql(
    "facts",
    columns="e.key",
    visible=f"""(
        (SELECT true FROM knowledge_triple t WHERE t.subject_key = e.key AND {VISIBLE} LIMIT 1) OR
        (SELECT true FROM knowledge_triple t WHERE t.object_key = e.key AND {VISIBLE} LIMIT 1)
    )""",  # noqa: S608 - constants
)
EDGES = f"""
SELECT near.* FROM unnest(%(keys)s::text[]) AS asked(key) CROSS JOIN LATERAL (
    (SELECT {COLUMNS} FROM knowledge_triple t WHERE t.subject_key = asked.key AND {VISIBLE} LIMIT {MOST_EDGES})
    UNION
    (SELECT {COLUMNS} FROM knowledge_triple t WHERE t.object_key = asked.key AND {VISIBLE} LIMIT {MOST_EDGES})
) near ORDER BY near.id
"""  # noqa: S608 - constants
STAGING = """
CREATE TEMPORARY TABLE IF NOT EXISTS triple_load (
    knowledge_set_id bigint, subject text, relation text, object text, subject_type text, object_type text,
    subject_key text, object_key text, digest bigint, lexemes tsvector, length smallint, confidence float8,
    document_id bigint, version_id bigint, chunk_id bigint, sentence text, rule text
) ON COMMIT DELETE ROWS
"""
LOAD_COLUMNS = (
    "knowledge_set_id, subject, relation, object, subject_type, object_type, subject_key, object_key, digest, lexemes, "
    "length, confidence, document_id, version_id, chunk_id, sentence, rule"
)
# the condition holds for all rows or for none: most sets have no decisions, and none is looked for then
INSERT = f"""
INSERT INTO knowledge_triple (tenant_id, source_id, state, {LOAD_COLUMNS})
SELECT %(tenant)s, %(source)s, CASE WHEN (
    SELECT EXISTS (SELECT 1 FROM knowledge_tripledecision d WHERE d.tenant_id = %(tenant)s AND d.undone IS NULL)
) THEN coalesce((
    SELECT d.kind FROM knowledge_tripledecision d
    WHERE d.knowledge_set_id = l.knowledge_set_id AND d.subject_key = l.subject_key AND d.object_key = l.object_key
        AND d.relation = l.relation AND d.undone IS NULL
    ORDER BY d.id DESC LIMIT 1
), '') ELSE '' END, {LOAD_COLUMNS} FROM triple_load l
ON CONFLICT (knowledge_set_id, digest) DO NOTHING
"""  # noqa: S608 - constants
ADD_NAMES = """
INSERT INTO knowledge_triplename (tenant_id, key)
SELECT DISTINCT %(tenant)s::bigint, named.key FROM triple_load l CROSS JOIN LATERAL (
    VALUES (l.subject_key), (l.object_key)
) AS named(key)
WHERE length(named.key) BETWEEN 3 AND 80
    AND NOT EXISTS (SELECT 1 FROM knowledge_triplename n WHERE n.tenant_id = %(tenant)s AND n.key = named.key)
ON CONFLICT (tenant_id, key) DO NOTHING
"""
DROP_NAMES = """
DELETE FROM knowledge_triplename n WHERE
    NOT EXISTS (SELECT 1 FROM knowledge_triple t WHERE t.tenant_id = n.tenant_id AND t.subject_key = n.key) AND
    NOT EXISTS (SELECT 1 FROM knowledge_triple t WHERE t.tenant_id = n.tenant_id AND t.object_key = n.key)
"""
SETTLE = """
SELECT gin_clean_pending_list('knowledge_triple_lexemes'), gin_clean_pending_list('knowledge_triplename_alike')
"""
LEAST_ALIKE = "SELECT set_config('pg_trgm.similarity_threshold', %(least)s, true)"
SCAN_SETTINGS = (
    "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '100', true)"
)
WITHOUT_VECTOR = """
SELECT t.id, t.tenant_id, t.subject, t.relation, t.object FROM knowledge_triple t
WHERE t.id > %(after)s AND NOT EXISTS (
    SELECT 1 FROM knowledge_triplevector v WHERE v.triple_id = t.id AND v.embedding_model = %(model)s
) ORDER BY t.id LIMIT %(limit)s
"""
ADD_VECTORS = """
INSERT INTO knowledge_triplevector (triple_id, tenant_id, embedding_model, vector)
SELECT a.id, a.tenant, %(model)s, a.vector::halfvec
FROM unnest(%(ids)s::bigint[], %(tenants)s::bigint[], %(vectors)s::text[]) AS a(id, tenant, vector)
JOIN knowledge_triple t ON t.id = a.id
ON CONFLICT (triple_id, embedding_model) DO UPDATE SET vector = EXCLUDED.vector
"""

TripleRow = tuple[object, ...]  # LOAD_COLUMNS


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTriple:
    """A fact to store; `document`, `version`, `chunk` and `sentence`: where it was read, None for imported ones."""

    set_id: int
    triple: Triple
    confidence: float = 1.0
    document: int | None = None
    version: int | None = None
    chunk: int | None = None
    sentence: str = ""
    rule: str = ""


def entity_key(name: str) -> str:
    """The key of a name, of bounded length: two long names are one if they are equal to the last letter."""
    key = name_key(name)
    if len(key) <= KEY_CHARACTERS:
        return key
    return f"{key[: KEY_CHARACTERS - 33]}#{sha256(key.encode()).hexdigest()[:32]}"


def triples_store(rows: Sequence[NewTriple], *, tenant_id: int, source_id: int | None, tokenizer: Tokenizer) -> int:
    """Store facts in one transaction; those that their set has already are left out. The number stored."""
    return triple_rows_store([triple_row(row, tokenizer) for row in rows], tenant_id=tenant_id, source_id=source_id)


def triple_rows_store(rows: Sequence[TripleRow], *, tenant_id: int, source_id: int | None) -> int:
    """`triples_store` for rows that `triple_row` has made."""
    if not rows:
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(STAGING)
        cursor.execute("TRUNCATE triple_load")
        with cursor.cursor.copy(f"COPY triple_load ({LOAD_COLUMNS}) FROM STDIN") as copy:  # psycopg's cursor
            for row in rows:
                copy.write_row(row)
        cursor.execute(INSERT, {"tenant": tenant_id, "source": source_id})
        stored = int(cursor.rowcount)
        if stored:
            cursor.execute(ADD_NAMES, {"tenant": tenant_id})
            epoch_advance(tenant_id=tenant_id, sets={int(str(row[0])) for row in rows})  # facts are part of answers
        return stored


def triple_row(row: NewTriple, tokenizer: Tokenizer) -> TripleRow:
    """A fact as it is loaded: with keys, words and digest."""
    triple = row.triple
    subject_key, object_key = entity_key(triple.subject), entity_key(triple.object)
    terms = sorted({term for term in tokenizer.terms(triple.text) if 0 < len(term) <= MAX_TERM_CHARACTERS})
    digest_text = "\x1f".join((subject_key, name_key(triple.relation), object_key, str(row.chunk or "")))
    return (
        row.set_id, triple.subject, triple.relation, triple.object, triple.subject_type, triple.object_type,
        subject_key, object_key,
        int.from_bytes(blake2b(digest_text.encode(), digest_size=8).digest(), "big", signed=True),
        " ".join(map(lexeme, terms)), min(len(terms), 32_767), row.confidence,
        row.document, row.version, row.chunk, row.sentence, row.rule,
    )  # fmt: skip


def words_settle() -> None:
    """Move what was written last into the indexes of words and names; a search reads the rest one by one until then."""
    fetch(SETTLE, {})


# ── search ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ScopedTriples:
    """Implements `ragcore.graph.ports.TripleIndex` and `ragcore.graph.name_linking.EntityNames` for one asker.

    `sets`: those of which the asker may read imported facts; `visible`: documents whose facts the asker may read. Make
    one for each question: what was counted for it is kept.
    """

    scope: Scope
    sets: Sequence[int]
    visible: Visible
    tokenizer: Tokenizer
    model: str
    counted: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)  # facts by term

    def by_words(self, question: str, *, limit: int) -> list[TripleHit]:
        """See `TripleIndex`."""
        counts = self._counts(self.tokenizer.terms(question), most=MAX_TERMS)
        weights = term_weights(counts)
        hits: dict[int, TripleHit] = {}
        for query in words_queries(counts):
            rows = self._fetch(
                BY_WORDS,
                any=query,
                terms=[lexeme(term) for term in weights],
                weights=list(weights.values()),
                limit=limit,
            )
            hits |= {hit.id: hit for hit in map(_hit, rows)}
            if len(hits) >= limit:
                break
        return sorted(hits.values(), key=lambda hit: (-hit.score, hit.id))[:limit]

    def rarity(self, terms: Sequence[str]) -> Mapping[str, float]:
        """See `TripleIndex`; counted among the facts that the asker may see."""
        return term_weights(self._counts(terms))

    def _counts(self, terms: Sequence[str], *, most: int = MAX_RATED) -> dict[str, int]:
        """How many visible facts have each term, estimated of many; terms without any are left out."""
        different = [t for t in dict.fromkeys(terms) if 0 < len(t) <= MAX_TERM_CHARACTERS][:most]
        if not different:
            return {}
        if new := {lexeme(term): term for term in different if term not in self.counted}:
            self.counted.update((new[text], int(number)) for text, number in self._fetch(FREQUENCIES, terms=list(new)))
        return {term: number for term in different if (number := self.counted[term])}

    def by_meaning(self, vector: FloatArray, *, limit: int) -> list[TripleHit]:
        """See `TripleIndex`."""
        with transaction.atomic():
            fetch(SCAN_SETTINGS, {})
            rows = self._fetch(BY_MEANING, vector=_prefix_text(vector), model=self.model, limit=limit)
        return sorted((_hit(row) for row in rows), key=lambda hit: (-hit.score, hit.id))

    def meanings(self, vector: FloatArray, ids: Sequence[int]) -> Mapping[int, float]:
        """See `TripleIndex`."""
        if not ids:
            return {}
        rows = self._fetch(MEANINGS, vector=_prefix_text(vector), model=self.model, ids=list(ids))
        return {number: float(cosine) for number, cosine in rows}

    def names(self, candidates: Sequence[str]) -> set[str]:
        """See `GraphSource`."""
        keys = [key for key in dict.fromkeys(candidates) if 0 < len(key) <= KEY_CHARACTERS]
        return {row[0] for row in self._fetch(NAMES, keys=keys)} if keys else set()

    def unknown(self, words: Sequence[str]) -> set[str]:
        """See `EntityNames`; what only facts have that the asker may not see is unknown, too."""
        terms = {word: self.tokenizer.terms(word) for word in words}
        counts = self._counts([term for each in terms.values() for term in each])
        return {word for word, each in terms.items() if each and not any(term in counts for term in each)}

    def alike(self, names: Sequence[str]) -> dict[str, list[str]]:
        """See `EntityNames`."""
        if not names:
            return {}
        with transaction.atomic():
            fetch(LEAST_ALIKE, {"least": str(ALIKE)})
            params = {"tenant": self.scope.tenant_id, "names": list(names), "limit": MOST_ALIKE}
            rows = fetch(UNKNOWN_ALIKE, params)
        visible = self.names([key for _name, key in rows])
        keys_by_name: dict[str, list[str]] = {}
        for name, key in rows:
            if key in visible:
                keys_by_name.setdefault(name, []).append(key)
        return keys_by_name

    @transaction.atomic
    def near(self, vectors: FloatArray, *, limit: int) -> list[dict[str, float]]:
        """See `EntityNames`."""
        near_begin()
        params = {"model": self.model, "limit": limit}
        rows = [self._fetch(NEAR_NAMES, vector=near_vector(vector), **params) for vector in vectors]
        return [{key: float(cosine) for key, cosine in near} for near in rows]

    def edges(self, keys: Sequence[str]) -> list[Triple]:
        """See `GraphSource`."""
        rows = self._fetch(EDGES, keys=list(dict.fromkeys(keys))) if keys else []
        return list(dict.fromkeys(_triple(row) for row in rows))

    def _fetch(self, sql: str, **params: object) -> list[tuple]:  # type: ignore[type-arg]
        all_params = {"tenant": self.scope.tenant_id, "sets": list(self.sets), **self.visible.params, **params}
        return fetch(self.visible.applied(sql), all_params)


def _triple(row: Sequence[object]) -> Triple:
    subject, relation, object_, subject_type, object_type = map(str, row[1:6])
    return Triple(
        subject=subject, relation=relation, object=object_, subject_type=subject_type, object_type=object_type
    )


def _hit(row: Sequence[object]) -> TripleHit:
    return TripleHit(id=int(str(row[0])), triple=_triple(row), score=float(str(row[6])))


def _prefix_text(vector: FloatArray) -> str:
    """The prefix of a vector that facts are compared by, as text of a halfvec."""
    return vector_text(prefix(vector))


def names_clean() -> int:
    """Drop names that no fact has any more; how many there were."""
    return execute(DROP_NAMES, {})


# ── vectors ─────────────────────────────────────────────────────────────────────────────────────


def triples_without_vector(*, model: str, after: int, limit: int) -> list[tuple[int, int, Triple]]:
    """Id, tenant and fact of rows behind an id without a vector of this model, by id. Of all tenants."""
    rows = fetch(WITHOUT_VECTOR, {"model": model, "after": after, "limit": limit})
    return [(row[0], row[1], Triple(subject=row[2], relation=row[3], object=row[4])) for row in rows]


def vectors_add(rows: Iterable[tuple[int, int, FloatArray]], *, model: str) -> None:
    """Store vectors by id and tenant; of facts that were deleted meanwhile none."""
    listed = list(rows)
    params: dict[str, Any] = {
        "model": model, "ids": [r[0] for r in listed], "tenants": [r[1] for r in listed],
        "vectors": [_prefix_text(r[2]) for r in listed],
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(ADD_VECTORS, params)
