"""Terms, document frequencies and totals: changed only under the lock of their statistics rows.

The rows of `knowledge_lexicalstatistics` of a tenant are locked in the order of languages before anything in the
lexical index of that tenant changes. Publishing is therefore serial per tenant, short, and free of deadlocks.

What is counted are passages, not entries: however many summaries and questions stand for a passage, each of its terms
counts once, and its length is that of its longest entry. So statistics are those of the texts, whatever a set lets be
written about them (decision 006).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knowledge.indexes.rows import execute, fetch

TEXTS = frozenset({"body", "window"})  # representations that are the document's own words

ENSURE = """
INSERT INTO knowledge_lexicalstatistics (tenant_id, language, entries, total_length, reference_length)
SELECT %(tenant)s, language, 0, 0, 0 FROM unnest(%(languages)s::text[]) AS language ORDER BY language
ON CONFLICT DO NOTHING
"""
LOCK = """
SELECT language, entries, total_length, reference_length FROM knowledge_lexicalstatistics
WHERE tenant_id = %(tenant)s ORDER BY language FOR UPDATE
"""
PASSAGES_OF_VERSIONS = """
UPDATE knowledge_document d SET passages = counted.passages, entries = counted.entries
FROM (
    SELECT v.document_id, count(DISTINCT e.chunk_id)::int AS passages, count(e.id)::int AS entries
    FROM knowledge_documentversion v LEFT JOIN knowledge_indexentry e ON e.version_id = v.id
    WHERE v.id = ANY(%(ids)s) GROUP BY v.document_id
) counted WHERE d.id = counted.document_id
"""
PASSAGES_OF_CHUNKS = """
UPDATE knowledge_document d
SET passages = greatest(0, d.passages + %(sign)s * counted.passages),
    entries = greatest(0, d.entries + %(sign)s * counted.entries)
FROM (
    SELECT e.version_id, count(DISTINCT e.chunk_id)::int AS passages, count(*)::int AS entries
    FROM knowledge_indexentry e WHERE e.chunk_id = ANY(%(ids)s) GROUP BY e.version_id
) counted WHERE d.live_version_id = counted.version_id
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
TERMS_COUNTED = """
SELECT lexeme::bigint AS id, count(DISTINCT e.chunk_id)::int AS passages
FROM knowledge_indexentry e, unnest(tsvector_to_array(e.lexemes)) AS lexeme
WHERE {which} GROUP BY 1
"""
LENGTHS_COUNTED = """
SELECT language, count(*)::int AS passages, sum(length)::bigint AS length
FROM (
    SELECT e.language, e.chunk_id, max(e.length) AS length
    FROM knowledge_indexentry e WHERE {which} GROUP BY e.language, e.chunk_id
) longest GROUP BY language
"""
COUNT_TERMS = f"""
UPDATE knowledge_term t SET frequency = greatest(0, t.frequency + %(sign)s * counted.passages)
FROM ({TERMS_COUNTED}) counted WHERE t.id = counted.id
"""  # noqa: S608 - constants
COUNT_LENGTHS = f"""
UPDATE knowledge_lexicalstatistics s
SET entries = greatest(0, s.entries + %(sign)s * counted.passages),
    total_length = greatest(0, s.total_length + %(sign)s * counted.length)
FROM ({LENGTHS_COUNTED}) counted WHERE s.tenant_id = %(tenant)s AND s.language = counted.language
"""  # noqa: S608 - constants
OF_VERSIONS = "e.version_id = ANY(%(ids)s)"
OF_CHUNKS = "e.chunk_id = ANY(%(ids)s)"


@dataclass(frozen=True, slots=True)
class Totals:
    """What BM25 needs to know of one language of a tenant."""

    language: str
    entries: int
    total_length: int
    reference_length: float


def statistics_lock(*, tenant_id: int, languages: Iterable[str] = ()) -> dict[str, Totals]:
    """Lock and return the statistics of a tenant until the end of the transaction; missing rows are made.

    They are made under the lock of those that exist, so that whoever has the lock may ask for further languages.
    """
    found = _locked(tenant_id)
    if missing := sorted(set(languages) - set(found)):
        execute(ENSURE, {"tenant": tenant_id, "languages": missing})
        found = _locked(tenant_id)
    return found


def _locked(tenant_id: int) -> dict[str, Totals]:
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
    """Add (+1) or take away (−1) the passages of these versions from frequencies and totals, under the lock.

    Versions that are added are, or are about to be, the live ones of their documents, which carry their numbers.
    """
    _count(OF_VERSIONS, tenant_id=tenant_id, ids=versions, sign=sign)
    if versions and sign > 0:
        execute(PASSAGES_OF_VERSIONS, {"ids": list(versions)})


def passages_count(*, tenant_id: int, chunk_ids: Sequence[int], sign: int) -> None:
    """The same for single passages of live versions."""
    _count(OF_CHUNKS, tenant_id=tenant_id, ids=chunk_ids, sign=sign)
    if chunk_ids:
        execute(PASSAGES_OF_CHUNKS, {"ids": list(chunk_ids), "sign": sign})


def _count(which: str, *, tenant_id: int, ids: Sequence[int], sign: int) -> None:
    if ids:
        params = {"tenant": tenant_id, "ids": list(ids), "sign": sign}
        execute(COUNT_TERMS.format(which=which), params)
        execute(COUNT_LENGTHS.format(which=which), params)


def effective_length(kind: str, length: int, average: float) -> int:
    """The length that BM25 weighs an entry with: what was written about a passage gains nothing by being short."""
    return length if kind in TEXTS else max(length, round(average))
