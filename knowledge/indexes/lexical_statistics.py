"""Terms, document frequencies and totals: changed only under the lock of their statistics rows.

The rows of `knowledge_lexicalstatistics` of a tenant are locked in the order of languages before anything in the
lexical index of that tenant changes. Publishing is therefore serial per tenant, short, and free of deadlocks.

Passages are counted, not entries: however many summaries and questions stand for a passage, each of its terms counts
once, and its length is that of its longest entry. So the statistics are those of the texts, whatever a set has written
about them (decision 006).

Reweighing computes the document sides of BM25 again when the average length has moved more than DRIFT from the
reference length they were computed with. It runs in batches, and people publish between them:

* It begins under the lock: the new reference takes its place, the old one is kept as `former_reference`, and so is the
  highest entry id. Ids are assigned under the same lock, so all entries up to that id have the former reference and all
  later ones the new one.
* Each batch takes the next ids under the lock and stores how far it came. An interrupted run continues there, and no
  weight is inverted with a reference it was not made with.
* Meanwhile entries of both references coexist. Each is right for an average that is at most some tens of per cent off;
  with a drift of 10 % a term that occurs once weighs 4 % more or less. All entries had that error until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knowledge.indexes.lexical import document_side, length_norm, sparse_parse, sparse_text, term_frequency
from knowledge.indexes.statements import execute, fetch

TEXTS = frozenset({"body", "window"})  # representations in the document's own words

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

__all__ = ["entries_remove", "passages_count"]
DELETE = "DELETE FROM knowledge_indexentry WHERE chunk_id = ANY(%(chunks)s)"
DELETE_SENTENCES = "DELETE FROM knowledge_passagesentences WHERE chunk_id = ANY(%(chunks)s)"
DRIFT = 0.10  # share of the average length; beyond it document sides are computed again
DRIFTED = """
SELECT tenant_id, language FROM knowledge_lexicalstatistics
WHERE entries > 0 AND former_reference IS NULL
  AND abs(total_length::float / entries - reference_length) > %(drift)s * greatest(reference_length, 1)
ORDER BY tenant_id, language
"""
UNDER_WAY = """
SELECT tenant_id, language FROM knowledge_lexicalstatistics
WHERE former_reference IS NOT NULL ORDER BY tenant_id, language
"""
BEGIN = """
UPDATE knowledge_lexicalstatistics
SET former_reference = reference_length, reference_length = total_length::float / entries, reweighed_to = 0,
    reweigh_until = (SELECT coalesce(max(id), 0) FROM knowledge_indexentry)
WHERE tenant_id = %(tenant)s AND language = %(language)s AND former_reference IS NULL AND entries > 0
"""
STATE = """
SELECT former_reference, reference_length, reweighed_to, reweigh_until FROM knowledge_lexicalstatistics
WHERE tenant_id = %(tenant)s AND language = %(language)s
"""
NEXT = """
SELECT id, representation, length, bm25::text FROM knowledge_indexentry
WHERE tenant_id = %(tenant)s AND language = %(language)s AND id > %(after)s AND id <= %(until)s
ORDER BY id LIMIT %(limit)s
"""
REWEIGH = """
UPDATE knowledge_indexentry e SET bm25 = fresh.weights::sparsevec
FROM unnest(%(ids)s::bigint[], %(weights)s::text[]) AS fresh (id, weights) WHERE e.id = fresh.id
"""
ADVANCE = """
UPDATE knowledge_lexicalstatistics SET reweighed_to = %(last)s
WHERE tenant_id = %(tenant)s AND language = %(language)s
"""
END = """
UPDATE knowledge_lexicalstatistics SET former_reference = NULL
WHERE tenant_id = %(tenant)s AND language = %(language)s
"""


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of one language of a tenant, for BM25."""

    language: str
    entries: int
    total_length: int
    reference_length: float


def statistics_lock(*, tenant_id: int, languages: Iterable[str] = ()) -> dict[str, Totals]:
    """Lock the statistics of a tenant until the end of the transaction and return them; missing rows are created.

    They are created under the lock of the existing rows, so the holder of the lock may ask for further languages.
    """
    statistics = _locked(tenant_id)
    if missing := sorted(set(languages) - set(statistics)):
        execute(ENSURE, {"tenant": tenant_id, "languages": missing})
        statistics = _locked(tenant_id)
    return statistics


def _locked(tenant_id: int) -> dict[str, Totals]:
    return {row[0]: Totals(*row) for row in fetch(LOCK, {"tenant": tenant_id})}


def reference_length_set(*, tenant_id: int, language: str, reference: float) -> None:
    """Set the average length that document sides are computed with from now on."""
    execute(SET_REFERENCE, {"tenant": tenant_id, "language": language, "reference": reference})


def term_ids(*, tenant_id: int, language: str, texts: Iterable[str]) -> dict[str, int]:
    """Ids of terms; missing terms are created. Call under the lock of the tenant's statistics."""
    distinct = sorted(set(texts))
    params = {"tenant": tenant_id, "language": language, "texts": distinct}
    ids = dict(fetch(TERM_IDS, params))
    if len(ids) < len(distinct):
        execute(ADD_TERMS, {**params, "texts": [t for t in distinct if t not in ids]})
        ids = dict(fetch(TERM_IDS, params))
    return ids


def versions_count(*, tenant_id: int, versions: Sequence[int], sign: int) -> None:
    """Add (sign +1) or subtract (−1) the passages of versions in frequencies and totals, under the lock.

    Added versions are, or are about to be, the live ones of their documents; documents store their counts.
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
    """The length of an entry in BM25: a text written about a passage gains nothing by being short."""
    return length if kind in TEXTS else max(length, round(average))


# ── entries of single passages ────────────────────────────────────────────────────────────────────


def entries_remove(*, tenant_id: int, chunk_ids: Sequence[int]) -> int:
    """Subtract the entries of passages of live versions from the statistics and delete them; returns how many.

    The vectors of the passages' sentences go with them.
    """
    passages_count(tenant_id=tenant_id, chunk_ids=chunk_ids, sign=-1)
    execute(DELETE_SENTENCES, {"chunks": list(chunk_ids)})
    return execute(DELETE, {"chunks": list(chunk_ids)})


# ── reweighing ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ReweighStep:
    """One batch: how many entries it changed, and whether it was the last."""

    changed: int
    is_over: bool


def drifted_statistics() -> list[tuple[int, str]]:
    """(tenant id, language) whose average length is too far from the reference."""
    return [(tenant, language) for tenant, language in fetch(DRIFTED, {"drift": DRIFT})]


def reweighing_due() -> list[tuple[int, str]]:
    """(tenant id, language) to be reweighed: unfinished ones first, then those that have drifted."""
    begun = [(tenant, language) for tenant, language in fetch(UNDER_WAY, {})]
    return begun + drifted_statistics()


def reweigh_begin(*, tenant_id: int, language: str) -> None:
    """Move the reference to the present average; no effect while a reweighing runs. Call in a transaction."""
    statistics_lock(tenant_id=tenant_id)
    execute(BEGIN, {"tenant": tenant_id, "language": language})


def reweigh_step(*, tenant_id: int, language: str, limit: int) -> ReweighStep:
    """Compute the document sides of the next entries. Call in a transaction."""
    statistics_lock(tenant_id=tenant_id)
    which = {"tenant": tenant_id, "language": language}
    former, reference, after, until = fetch(STATE, which)[0]
    if former is None:
        return ReweighStep(0, is_over=True)
    rows = fetch(NEXT, {**which, "after": after, "until": until, "limit": limit})
    if rows:
        weights = [
            _reweighed(text, kind=kind, length=length, old=former, new=reference) for _, kind, length, text in rows
        ]
        execute(REWEIGH, {"ids": [row[0] for row in rows], "weights": weights})
        execute(ADVANCE, {**which, "last": rows[-1][0]})
    if len(rows) < limit:
        execute(END, which)
    return ReweighStep(len(rows), is_over=len(rows) < limit)


def _reweighed(text: str, *, kind: str, length: int, old: float, new: float) -> str:
    norm = length_norm(length=effective_length(kind, length, old), average_length=old)
    frequencies = {term: term_frequency(weight, norm) for term, weight in sparse_parse(text).items()}
    return sparse_text(document_side(frequencies, length=effective_length(kind, length, new), average_length=new))
