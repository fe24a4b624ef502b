"""BM25 search in Postgres: GIN finds candidates, a sparse inner product gives the score.

BM25 is split into a document side and a query side whose inner product it is:
score(q, d) = Σ_t idf(t) · tf·(k1+1) / (tf + k1·(1 − b + b·dl/avgdl)), idf(t) = ln(1 + (N − df + ½)/(df + ½)).
Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; idf as in Lucene (never negative).

Lexemes are term ids, so candidates and statistics never cross tenants or languages.

Where the asker may see only a small part of a tenant, document frequencies are counted within that part:
statistics of unlike texts cost quality (.02 nDCG), and hidden texts should not weigh in visible ones. Up to
LOCAL_PASSAGES passages are counted through their documents. That takes some milliseconds, and a process remembers the
count of each term until the corpus changes. Beyond that limit the statistics of the tenant serve.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from accounts.scope import Scope
from knowledge.indexes.corpus_epoch import epoch_of
from knowledge.indexes.search_space import (
    AccessPlan,
    EpochCache,
    PlannedHits,
    SearchSpace,
    lexical_plan,
    search_space_of,
    tenant_size,
    visible_key,
    visible_size,
)
from knowledge.indexes.statements import fetch, fetch_by_index, fetch_many
from knowledge.indexes.visibility import Visible, visible_in_order_sql
from ragcore.text.lexical_features import idf
from ragcore.types import Expansion, Hit

K1 = 1.2
T = TypeVar("T", int, str)  # a term, or its id
B = 0.75

TERM_SPACE = 1_000_000_000  # dimensions of pgvector's sparsevec, its maximum; term ids stay below
NO_LIMIT = 2**31 - 1
LEAST = 50  # with fewer hits, terms beyond the cap bring candidates, too; nobody may ask for more results
# Sums of document frequencies of the terms that bring candidates: keep 99 % of the best 160 (docs/decisions/010).
CANDIDATE_CAP = 10_000  # of a large corpus, or where many hits are wanted
CANDIDATES_EACH_HIT = 20  # at least, where the corpus is small
CANDIDATE_SHARE = 0.1  # of the entries
TERMS = """
SELECT t.id, t.text, t.language, t.frequency, s.entries, t.frequency
FROM knowledge_term t
JOIN knowledge_lexicalstatistics s ON s.tenant_id = t.tenant_id AND s.language = t.language
WHERE t.tenant_id = %(tenant)s AND t.text = ANY(%(texts)s) AND t.frequency > 0
"""
SEARCH = visible_in_order_sql(
    """
    SELECT e.chunk_id, e.version_id, e.representation, e.bm25 <#> %(query)s::sparsevec AS distance
    FROM knowledge_indexentry e
    WHERE e.lexemes @@ %(terms)s::tsquery
    ORDER BY distance, e.chunk_id
    LIMIT %(fetched)s
    """,
    score="-near.distance",
)
DOCUMENTS = """
SELECT found.chunk_id, found.document, -found.distance, found.representation
FROM (
    SELECT e.chunk_id, d.id AS document, e.representation, e.bm25 <#> %(query)s::sparsevec AS distance
    FROM knowledge_document d
    JOIN knowledge_indexentry e ON e.version_id = d.live_version_id
    WHERE e.tenant_id = %(tenant)s AND d.id IN ({visible})
    OFFSET 0  -- each product once
) found
WHERE found.distance < 0
ORDER BY found.distance, found.chunk_id
LIMIT %(limit)s
"""
LOCAL_PASSAGES = 1500  # measured: 10 ms for a new question of ten terms
KEPT_TERMS = 50_000
TOTALS = """
SELECT e.language, count(DISTINCT e.chunk_id)
FROM knowledge_document d
JOIN knowledge_indexentry e ON e.version_id = d.live_version_id
WHERE d.id IN ({visible}) GROUP BY e.language
"""
FREQUENCIES = """
SELECT asked.id, count(DISTINCT held.chunk_id)
FROM (
    -- the cast reads a vector that stands outside of its row once, and not once a term: half the time
    SELECT e.chunk_id, e.bm25::sparsevec(1000000000) AS bm25
    FROM knowledge_document d
    JOIN knowledge_indexentry e ON e.version_id = d.live_version_id
    WHERE d.id IN ({visible})
    OFFSET 0
) held
CROSS JOIN unnest(%(ids)s::bigint[], %(vectors)s::sparsevec[]) AS asked (id, one)
WHERE (held.bm25 <#> asked.one) < 0
GROUP BY asked.id
"""
totals: EpochCache[dict[str, int]] = EpochCache()
terms_counted: EpochCache[int] = EpochCache(limit=KEPT_TERMS)


def document_side(frequencies: Mapping[int, int], *, length: int, average_length: float) -> dict[int, float]:
    """Weight per term id for a text of `length` terms."""
    norm = length_norm(length=length, average_length=average_length)
    return {term: tf * (K1 + 1) / (tf + norm) for term, tf in frequencies.items()}


def length_norm(*, length: int, average_length: float) -> float:
    """k1·(1 − b + b·dl/avgdl)."""
    return K1 * (1 - B + B * length / max(average_length, 1.0))


def term_frequency(weight: float, norm: float) -> int:
    """The term frequency of a weight: the exact inverse of `document_side` for whole numbers."""
    return max(1, round(weight * norm / (K1 + 1 - weight)))


def query_side(terms: Sequence[int], *, frequencies: Mapping[int, int], entries: Mapping[int, int]) -> dict[int, float]:
    """idf per term id, times its count in the query. `entries` maps a term id to N of its language."""
    counts = Counter(terms)
    return {
        term: count * idf(entries[term], frequencies[term])
        for term, count in counts.items()
        if frequencies.get(term, 0) > 0 and entries.get(term, 0) >= frequencies[term]
    }


def rarest_within(frequencies: Mapping[T, int], *, cap: int) -> list[T]:
    """Terms or their ids, rarest first, as long as the sum of their frequencies is at most `cap`; at least one."""
    chosen: list[T] = []
    total = 0
    for term, frequency in sorted(frequencies.items(), key=lambda item: (item[1], item[0])):
        total += frequency
        if chosen and total > cap:
            break
        chosen.append(term)
    return chosen


# ── sparse vectors keyed by term id ───────────────────────────────────────────────────────────────


def sparse_text(weights: Mapping[int, float]) -> str:
    """The text form of a sparsevec; pgvector counts dimensions from 1."""
    return "{" + ",".join(f"{i}:{w:.6g}" for i, w in sorted(weights.items())) + f"}}/{TERM_SPACE}"


def sparse_parse(text: str) -> dict[int, float]:
    """The inverse of `sparse_text`."""
    body = text[text.index("{") + 1 : text.index("}")]
    return {int(i): float(w) for i, w in (pair.split(":") for pair in body.split(",") if pair)}


@dataclass(frozen=True, slots=True)
class KnownTerm:
    """A query term that occurs in the corpus."""

    id: int
    text: str
    language: str
    frequency: int  # of passages that contain it
    entries: int  # N of its language
    candidates: int  # live passages of the tenant that contain it, whoever may see them


def known_terms(*, scope: Scope, texts: Sequence[str], visible: Visible | None = None) -> list[KnownTerm]:
    """Terms of the asker's tenant, one row per language in which they occur.

    `visible`: if that is a small part of the tenant, frequencies are counted within it (`local_counts`).
    """
    if not texts:
        return []
    rows = fetch(TERMS, {"tenant": scope.tenant_id, "texts": sorted(set(texts))})
    rows_of_terms = [KnownTerm(*row) for row in rows]
    local = (
        None
        if visible is None
        else local_counts(scope=scope, visible=visible, terms=[term.id for term in rows_of_terms])
    )
    if local is None:
        return rows_of_terms
    return [
        replace(term, frequency=local.terms[term.id], entries=local.totals.get(term.language, 0))
        for term in rows_of_terms
        if local.terms.get(term.id, 0) > 0
    ]


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """The query side of BM25."""

    weights: Mapping[int, float]  # idf times count, by term id
    frequencies: Mapping[int, int]
    idf: Mapping[str, float]  # by term text; the largest one, if several languages have the term
    candidates: Mapping[int, int]  # passages of the tenant by term id


def lexical_query(
    *,
    scope: Scope,
    terms: Sequence[str],
    corrections: Mapping[str, Mapping[str, float]] | None = None,
    expansions: Sequence[Expansion] = (),
    visible: Visible | None = None,
) -> LexicalQuery:
    """Look up the terms; terms that the corpus does not contain are left out.

    `visible`: see `known_terms`. `corrections`: misspelt term -> terms that were probably meant, with the factor of
    their idf, below 1. `expansions`: other names of what is asked for; the terms of a name weigh together at most its
    share of the asked terms.
    """
    factors = {text: factor for terms_of_word in (corrections or {}).values() for text, factor in terms_of_word.items()}
    added = {text: factor for text, factor in factors.items() if text not in terms}
    names = [text for expansion in expansions for text in expansion.terms]
    by_text: dict[str, list[KnownTerm]] = {}
    for term in known_terms(scope=scope, texts=[*terms, *added, *names], visible=visible):
        by_text.setdefault(term.text, []).append(term)
    all_terms = [term for same in by_text.values() for term in same]
    frequencies = {term.id: term.frequency for term in all_terms}
    entries = {term.id: term.entries for term in all_terms}
    single = query_side(list(frequencies), frequencies=frequencies, entries=entries)
    if expansions:
        plain = {text: max(single.get(term.id, 0.0) for term in same) for text, same in by_text.items()}
        added |= _name_factors(expansions, plain, question_terms=frozenset(terms), corrected=added)
    single = {term.id: added.get(term.text, 1.0) * single[term.id] for term in all_terms if term.id in single}
    counts = Counter(terms)
    weights = {term.id: max(counts[term.text], 1) * single[term.id] for term in all_terms if term.id in single}
    idf = {text: max(single.get(term.id, 0.0) for term in same) for text, same in by_text.items()}
    return LexicalQuery(weights, frequencies, idf, {term.id: term.candidates for term in all_terms})


def _name_factors(
    expansions: Sequence[Expansion],
    weights: Mapping[str, float],
    *,
    question_terms: frozenset[str],
    corrected: Mapping[str, float],
) -> dict[str, float]:
    """By what the idf of each term of an expansion is multiplied, at most 1; terms of the question itself stay.

    A term of the question that the corpus does not contain counts as much as the rarest one that it contains.
    """
    rarest = max(weights.values(), default=0.0)
    factors: dict[str, float] = {}
    for expansion in expansions:
        new = [text for text in expansion.terms if text not in question_terms]
        weight_of_terms = sum(weights.get(text, rarest) for text in set(expansion.asked_terms))
        total = sum(weights.get(text, 0.0) for text in new)
        factor = (
            expansion.weight * min(1.0, weight_of_terms / total)
            if weight_of_terms > 0 and total > 0
            else expansion.weight
        )
        for text in new:
            factors[text] = max(factors.get(text, 0.0), corrected.get(text, 0.0), factor)
    return factors


def lexical_many_search(
    *, scope: Scope, visible: Visible, queries: Sequence[LexicalQuery], limit: int
) -> list[PlannedHits]:
    """Hits of each query, best first; every score is above 0. Queries with one access path take one round trip."""
    space = search_space_of(scope=scope, visible=visible)
    plans = [_QueryPlan.of(query, space, scope=scope, visible=visible, limit=limit) for query in queries]
    rows_by_place: dict[int, list[tuple[Any, ...]]] = {}
    for way, sql, run in (("terms", SEARCH, fetch_by_index), ("documents", DOCUMENTS, fetch_many)):
        places = [place for place, plan in enumerate(plans) if plan.plan.path == way and queries[place].weights]
        answers = run(visible.applied(sql), [plans[place].params for place in places]) if places else []
        rows_by_place |= dict(zip(places, answers, strict=True))
    return [
        PlannedHits(_hits(plan.completed(rows_by_place.get(place, []), visible)), plan.plan)
        for place, plan in enumerate(plans)
    ]


@dataclass(frozen=True, slots=True)
class _QueryPlan:
    """One query with its plan; `chosen` and `common` are its terms, rarest first."""

    plan: AccessPlan
    params: Mapping[str, Any]
    chosen: Sequence[int]
    common: Sequence[int]  # too common to bring candidates of their own
    candidates: int  # passages that contain a chosen term, at most

    @classmethod
    def of(cls, query: LexicalQuery, space: SearchSpace, *, scope: Scope, visible: Visible, limit: int) -> _QueryPlan:
        candidates_of_term = {term: query.candidates.get(term, 0) for term in query.weights}
        chosen = rarest_within(candidates_of_term, cap=candidate_cap(space.total, limit=limit))
        common = sorted(candidates_of_term.keys() - set(chosen), key=lambda term: (candidates_of_term[term], term))
        candidates = sum(candidates_of_term[term] for term in chosen)
        plan = lexical_plan(space, candidates=candidates, limit=limit)
        params = {
            **visible.params,
            "tenant": scope.tenant_id,
            "query": sparse_text(query.weights),
            "terms": _any_of(chosen),
            "fetched": plan.fetched,
            "limit": limit,
        }
        return cls(plan, params, chosen, common, candidates)

    def completed(self, rows: list[tuple[Any, ...]], visible: Visible) -> list[tuple[Any, ...]]:
        """Fetch more hits if rights left too few: first of all candidates, then of the common terms, too."""
        limit = int(self.params["limit"])
        if self.plan.path == "documents" or len(rows) >= limit:
            return rows
        if self.plan.fetched < self.candidates:
            rows = self._all_with(self.chosen, visible)
        added = 1
        while len(rows) < min(limit, LEAST) and added < 2 * len(self.common) + 1:
            rows = self._all_with([*self.chosen, *self.common[:added]], visible)
            added *= 2
        return rows

    def _all_with(self, terms: Sequence[int], visible: Visible) -> list[tuple[Any, ...]]:
        everything = {**self.params, "terms": _any_of(terms), "fetched": NO_LIMIT}
        return fetch_by_index(visible.applied(SEARCH), [everything])[0]


def candidate_cap(entries: int, *, limit: int) -> int:
    """How many passages the terms that bring candidates may have together, in a corpus of so many entries."""
    return min(CANDIDATE_CAP, max(CANDIDATES_EACH_HIT * limit, int(CANDIDATE_SHARE * entries)))


def _any_of(terms: Iterable[int]) -> str:
    return " | ".join(str(term) for term in terms)


def _hits(rows: list[tuple[Any, ...]]) -> list[Hit]:
    return Hit.of_rows(rows)


# ── document frequencies within what the asker may see ────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Local:
    """Passages that contain a term, by its id, and passages by language; only visible ones."""

    terms: Mapping[int, int]
    totals: Mapping[str, int]


def local_counts(*, scope: Scope, visible: Visible, terms: Sequence[int]) -> Local | None:
    """Counts within what the asker may see; None if that is large, or the whole tenant."""
    epoch = epoch_of(scope=scope, visible=visible)
    size = visible_size(scope=scope, visible=visible, epoch=epoch)
    total = tenant_size(tenant_id=scope.tenant_id, epoch=epoch)
    if size.passages > LOCAL_PASSAGES or size.passages >= total.passages:
        return None
    key = (scope.tenant_id, visible_key(visible))
    counts = {term: count for term in terms if (count := terms_counted.peek((*key, term), epoch=epoch)) is not None}
    if missing := [term for term in terms if term not in counts]:
        counted = _counted(visible, missing)
        for term in missing:
            counts[term] = counted.get(term, 0)
            terms_counted.put((*key, term), counts[term], epoch=epoch)
    return Local(counts, totals.get(key, epoch=epoch, make=lambda: _totals(visible)))


def _counted(visible: Visible, terms: Sequence[int]) -> dict[int, int]:
    params = {**visible.params, "ids": list(terms), "vectors": [sparse_text({term: 1.0}) for term in terms]}
    return dict(fetch(visible.applied(FREQUENCIES), params))


def _totals(visible: Visible) -> dict[str, int]:
    return dict(fetch(visible.applied(TOTALS), visible.params))
