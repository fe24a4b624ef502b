"""BM25 in Postgres: GIN for candidates, sparse inner product for the score (D3).

Lexemes are term ids, so candidates and statistics never cross tenants or languages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from accounts.scope import Scope
from knowledge.indexes.bm25 import query_side, rarest_within
from knowledge.indexes.rows import fetch
from knowledge.indexes.sparse import sparse_text
from knowledge.indexes.visibility import Visible
from ragcore.types import Hit

CANDIDATE_CAP = 20_000  # sum of document frequencies; measured: same top 100 as without, 4.5 times as fast

TERMS = """
SELECT t.id, t.text, t.frequency, s.entries
FROM knowledge_term t
JOIN knowledge_lexicalstatistics s ON s.tenant_id = t.tenant_id AND s.language = t.language
WHERE t.tenant_id = %(tenant)s AND t.text = ANY(%(texts)s) AND t.frequency > 0
"""

SEARCH = """
SELECT e.chunk_id, d.id, e.representation, -(e.bm25 <#> %(query)s::sparsevec) AS score
FROM knowledge_indexentry e
JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE e.lexemes @@ %(terms)s::tsquery AND d.id IN ({visible})
ORDER BY score DESC, e.chunk_id
LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True)
class KnownTerm:
    """A query term that occurs in the corpus."""

    id: int
    text: str
    frequency: int
    entries: int  # N of its language


def known_terms(*, scope: Scope, texts: Sequence[str]) -> list[KnownTerm]:
    """Terms of the asker's tenant, one row per language in which they occur."""
    if not texts:
        return []
    rows = fetch(TERMS, {"tenant": scope.tenant_id, "texts": sorted(set(texts))})
    return [KnownTerm(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """The query side of BM25, ready to be sent."""

    weights: Mapping[int, float]  # idf times count, by term id
    frequencies: Mapping[int, int]
    idf: Mapping[str, float]  # by term text, the larger one where several languages have it


def lexical_query(*, scope: Scope, terms: Sequence[str]) -> LexicalQuery:
    """Look the terms up once; terms that the corpus does not know are left out."""
    known = known_terms(scope=scope, texts=terms)
    by_text: dict[str, list[KnownTerm]] = {}
    for term in known:
        by_text.setdefault(term.text, []).append(term)
    frequencies = {term.id: term.frequency for term in known}
    entries = {term.id: term.entries for term in known}
    single = query_side(list(frequencies), frequencies=frequencies, entries=entries)
    idf = {text: max(single.get(term.id, 0.0) for term in same) for text, same in by_text.items()}
    ids = [term.id for text in terms for term in by_text.get(text, [])]
    return LexicalQuery(query_side(ids, frequencies=frequencies, entries=entries), frequencies, idf)


def lexical_search(*, scope: Scope, visible: Visible, query: LexicalQuery, limit: int) -> list[Hit]:
    """Best first by BM25; every hit has a score above 0."""
    del scope  # bound in `visible` and in the terms; asked for so that no caller can forget it
    if not query.weights:
        return []
    chosen = rarest_within({i: query.frequencies[i] for i in query.weights}, cap=CANDIDATE_CAP)
    rows = fetch(
        SEARCH.format(visible=visible.sql),
        {
            **visible.params,
            "query": sparse_text(query.weights),
            "terms": " | ".join(str(term) for term in chosen),
            "limit": limit,
        },
    )
    return [Hit(chunk=c, document=d, representation=r, score=float(s)) for c, d, r, s in rows]
