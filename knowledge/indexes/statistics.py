"""Terms, document frequencies and totals: changed only under the lock of their statistics rows.

The rows of `knowledge_lexicalstatistics` of a tenant are locked in the order of languages before anything in the
lexical index of that tenant changes. Publishing is therefore serial per tenant, short, and free of deadlocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knowledge.indexes.bm25 import document_side, length_norm, term_frequency
from knowledge.indexes.rows import execute, fetch
from knowledge.indexes.sparse import sparse_parse, sparse_text

DRIFT = 0.10  # of the average length, beyond which document sides are computed again
REBUILD_BATCH = 2000  # entries

ENSURE = """
INSERT INTO knowledge_lexicalstatistics (tenant_id, language, entries, total_length, reference_length)
SELECT %(tenant)s, language, 0, 0, 0 FROM unnest(%(languages)s::text[]) AS language ORDER BY language
ON CONFLICT DO NOTHING
"""
LOCK = """
SELECT language, entries, total_length, reference_length FROM knowledge_lexicalstatistics
WHERE tenant_id = %(tenant)s ORDER BY language FOR UPDATE
"""
SET_REFERENCE = """
UPDATE knowledge_lexicalstatistics SET reference_length = %(reference)s
WHERE tenant_id = %(tenant)s AND language = %(language)s
"""
ADD_TERMS = """
INSERT INTO knowledge_term (tenant_id, language, text, frequency)
SELECT %(tenant)s, %(language)s, text, 0 FROM unnest(%(texts)s::text[]) AS text ORDER BY text
ON CONFLICT DO NOTHING
"""
TERM_IDS = """
SELECT text, id FROM knowledge_term
WHERE tenant_id = %(tenant)s AND language = %(language)s AND text = ANY(%(texts)s)
"""
COUNT_TERMS = """
UPDATE knowledge_term t SET frequency = greatest(0, t.frequency + %(sign)s * counted.entries)
FROM (
    SELECT lexeme::bigint AS id, count(*)::int AS entries
    FROM knowledge_indexentry e, unnest(tsvector_to_array(e.lexemes)) AS lexeme
    WHERE e.version_id = ANY(%(versions)s)
    GROUP BY 1
) counted
WHERE t.id = counted.id
"""
COUNT_ENTRIES = """
UPDATE knowledge_lexicalstatistics s
SET entries = greatest(0, s.entries + %(sign)s * counted.entries),
    total_length = greatest(0, s.total_length + %(sign)s * counted.length)
FROM (
    SELECT language, count(*)::int AS entries, sum(length)::bigint AS length
    FROM knowledge_indexentry WHERE version_id = ANY(%(versions)s) GROUP BY language
) counted
WHERE s.tenant_id = %(tenant)s AND s.language = counted.language
"""
DRIFTED = """
SELECT tenant_id, language FROM knowledge_lexicalstatistics
WHERE entries > 0 AND abs(total_length::float / entries - reference_length) > %(drift)s * greatest(reference_length, 1)
ORDER BY tenant_id, language
"""
ENTRIES_AFTER = """
SELECT id, length, bm25::text FROM knowledge_indexentry
WHERE tenant_id = %(tenant)s AND language = %(language)s AND id > %(after)s ORDER BY id LIMIT %(limit)s
"""
REWEIGH = """
UPDATE knowledge_indexentry e SET bm25 = fresh.weights::sparsevec
FROM unnest(%(ids)s::bigint[], %(weights)s::text[]) AS fresh (id, weights) WHERE e.id = fresh.id
"""


@dataclass(frozen=True, slots=True)
class Totals:
    """What BM25 needs to know of one language of a tenant."""

    language: str
    entries: int
    total_length: int
    reference_length: float


def statistics_lock(*, tenant_id: int, languages: Iterable[str] = ()) -> dict[str, Totals]:
    """Lock and return the statistics of a tenant until the end of the transaction; missing rows are made."""
    if wanted := sorted(set(languages)):
        execute(ENSURE, {"tenant": tenant_id, "languages": wanted})
    return {row[0]: Totals(*row) for row in fetch(LOCK, {"tenant": tenant_id})}


def reference_length_set(*, tenant_id: int, language: str, reference: float) -> None:
    """The average length with which document sides are computed from now on."""
    execute(SET_REFERENCE, {"tenant": tenant_id, "language": language, "reference": reference})


def term_ids(*, tenant_id: int, language: str, texts: Iterable[str]) -> dict[str, int]:
    """Ids of terms, made where missing. Call under the lock of the tenant's statistics."""
    wanted = sorted(set(texts))
    params = {"tenant": tenant_id, "language": language, "texts": wanted}
    known = dict(fetch(TERM_IDS, params))
    if len(known) < len(wanted):
        execute(ADD_TERMS, {**params, "texts": [t for t in wanted if t not in known]})
        known = dict(fetch(TERM_IDS, params))
    return known


def versions_count(*, tenant_id: int, versions: Sequence[int], sign: int) -> None:
    """Add (+1) or take away (−1) the entries of these versions from frequencies and totals, under the lock."""
    if versions:
        params = {"tenant": tenant_id, "versions": list(versions), "sign": sign}
        execute(COUNT_TERMS, params)
        execute(COUNT_ENTRIES, params)


def statistics_drifted() -> list[tuple[int, str]]:
    """(tenant id, language) whose average length has moved too far from the reference."""
    return [(tenant, language) for tenant, language in fetch(DRIFTED, {"drift": DRIFT})]


def document_sides_rebuild(*, tenant_id: int, language: str) -> int:
    """Compute the document sides again with today's average; returns the number of entries. Call in a transaction."""
    totals = statistics_lock(tenant_id=tenant_id)[language]
    average = totals.total_length / max(totals.entries, 1)
    after = changed = 0
    scope = {"tenant": tenant_id, "language": language, "limit": REBUILD_BATCH}
    while rows := fetch(ENTRIES_AFTER, {**scope, "after": after}):
        ids = [row[0] for row in rows]
        weights = [_reweighed(text, length, totals.reference_length, average) for _, length, text in rows]
        changed += execute(REWEIGH, {"ids": ids, "weights": weights})
        after = ids[-1]
    reference_length_set(tenant_id=tenant_id, language=language, reference=average)
    return changed


def _reweighed(text: str, length: int, old_average: float, new_average: float) -> str:
    norm = length_norm(length=length, average_length=old_average)
    frequencies = {term: term_frequency(weight, norm) for term, weight in sparse_parse(text).items()}
    return sparse_text(document_side(frequencies, length=length, average_length=new_average))
