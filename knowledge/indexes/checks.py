"""Recount what the lexical index should say, and find documents that are only half indexed.

A passage counts, by all its entries together, while its version is live and its document is not deleted (see
`knowledge.indexes.lexical_statistics`). Each check is one statement, so it sees one state of the database, even while
documents are published.
"""

from __future__ import annotations

from dataclasses import dataclass

from knowledge.indexes.statements import execute, fetch

LIVE = """
live AS (
    SELECT e.* FROM knowledge_indexentry e
    JOIN knowledge_document d ON d.live_version_id = e.version_id
    WHERE d.deleted IS NULL
), longest AS (
    SELECT tenant_id, language, chunk_id, max(length) AS length FROM live GROUP BY tenant_id, language, chunk_id
)
"""
TOTALS = f"""
WITH {LIVE}, counted AS (
    SELECT tenant_id, language, count(*) AS entries, sum(length) AS length FROM longest GROUP BY tenant_id, language
)
SELECT tenant_id, language, coalesce(s.entries, 0), coalesce(c.entries, 0), coalesce(s.total_length, 0),
       coalesce(c.length, 0)
FROM knowledge_lexicalstatistics s FULL JOIN counted c USING (tenant_id, language)
WHERE (coalesce(s.entries, 0), coalesce(s.total_length, 0)) <> (coalesce(c.entries, 0), coalesce(c.length, 0))
ORDER BY tenant_id, language
"""  # noqa: S608 - a constant
FREQUENCIES = f"""
WITH {LIVE}, counted AS (
    SELECT lexeme::bigint AS id, count(DISTINCT chunk_id)::int AS entries
    FROM live, unnest(tsvector_to_array(lexemes)) AS lexeme GROUP BY 1
)
SELECT t.tenant_id, t.language, count(*), sum(coalesce(t.frequency, 0)), sum(coalesce(c.entries, 0))
FROM knowledge_term t FULL JOIN counted c USING (id)
WHERE coalesce(t.frequency, 0) <> coalesce(c.entries, 0)
GROUP BY t.tenant_id, t.language ORDER BY t.tenant_id, t.language
"""  # noqa: S608 - a constant
PASSAGES = f"""
WITH {LIVE}, counted AS (
    SELECT version_id, count(DISTINCT chunk_id)::int AS passages, count(*)::int AS entries FROM live GROUP BY version_id
)
SELECT d.tenant_id, d.id, d.passages, d.entries, coalesce(c.passages, 0), coalesce(c.entries, 0)
FROM knowledge_document d LEFT JOIN counted c ON c.version_id = d.live_version_id
WHERE d.deleted IS NULL AND d.live_version_id IS NOT NULL
  AND (d.passages, d.entries) <> (coalesce(c.passages, 0), coalesce(c.entries, 0))
ORDER BY d.id
"""  # noqa: S608 - a constant
MISSING = """
SELECT d.tenant_id, d.id, count(c.id)
FROM knowledge_document d
LEFT JOIN knowledge_chunk c ON c.version_id = d.live_version_id AND c.retired IS NULL AND c.kind IN ('body', 'whole')
WHERE d.deleted IS NULL AND d.live_version_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM knowledge_indexentry e WHERE e.chunk_id = c.id AND e.version_id = d.live_version_id)
  AND (c.id IS NOT NULL OR NOT EXISTS (SELECT 1 FROM knowledge_chunk k WHERE k.version_id = d.live_version_id))
GROUP BY d.tenant_id, d.id ORDER BY d.id
"""
DOUBLE = f"""
WITH {LIVE}
SELECT tenant_id, chunk_id, count(*) FROM live
WHERE representation = 'body' GROUP BY tenant_id, chunk_id, embedding_model HAVING count(*) > 1
ORDER BY chunk_id
"""  # noqa: S608 - a constant
RETIRED = """
SELECT e.tenant_id, e.chunk_id, count(*) FROM knowledge_indexentry e JOIN knowledge_chunk c ON c.id = e.chunk_id
WHERE c.retired IS NOT NULL GROUP BY e.tenant_id, e.chunk_id ORDER BY e.chunk_id
"""
MISPLACED = """
SELECT e.tenant_id, e.version_id, count(*) FROM knowledge_indexentry e
JOIN knowledge_chunk c ON c.id = e.chunk_id
JOIN knowledge_documentversion v ON v.id = e.version_id
JOIN knowledge_document d ON d.id = v.document_id
WHERE c.version_id <> e.version_id OR d.tenant_id <> e.tenant_id
GROUP BY e.tenant_id, e.version_id ORDER BY e.version_id
"""
SET_PASSAGES = """
UPDATE knowledge_document d SET passages = counted.passages, entries = counted.entries
FROM (
    SELECT o.id, count(DISTINCT e.chunk_id)::int AS passages, count(e.id)::int AS entries
    FROM knowledge_document o LEFT JOIN knowledge_indexentry e ON e.version_id = o.live_version_id
    WHERE o.tenant_id = %(tenant)s AND o.deleted IS NULL AND o.live_version_id IS NOT NULL GROUP BY o.id
) counted
WHERE d.id = counted.id AND (d.passages, d.entries) <> (counted.passages, counted.entries)
"""
SET_FREQUENCIES = f"""
WITH {LIVE}, counted AS (
    SELECT lexeme::bigint AS id, count(DISTINCT chunk_id)::int AS entries
    FROM live, unnest(tsvector_to_array(lexemes)) AS lexeme WHERE tenant_id = %(tenant)s GROUP BY 1
), fresh AS (
    SELECT t.id, coalesce(c.entries, 0) AS entries FROM knowledge_term t LEFT JOIN counted c USING (id)
    WHERE t.tenant_id = %(tenant)s AND t.frequency <> coalesce(c.entries, 0)
)
UPDATE knowledge_term t SET frequency = fresh.entries FROM fresh WHERE t.id = fresh.id
"""  # noqa: S608 - a constant
SET_TOTALS = f"""
WITH {LIVE}, counted AS (
    SELECT language, count(*) AS entries, sum(length) AS length FROM longest
    WHERE tenant_id = %(tenant)s GROUP BY language
), emptied AS (
    UPDATE knowledge_lexicalstatistics SET entries = 0, total_length = 0
    WHERE tenant_id = %(tenant)s AND language NOT IN (SELECT language FROM counted)
)
INSERT INTO knowledge_lexicalstatistics (tenant_id, language, entries, total_length, reference_length)
SELECT %(tenant)s, language, entries, length, length::float / entries FROM counted
ON CONFLICT (tenant_id, language) DO UPDATE SET entries = excluded.entries, total_length = excluded.total_length
"""  # noqa: S608 - a constant


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """One place where the index does not say what its entries say; `stored` against `counted`."""

    kind: str  # entries, length, frequencies, passages, terms, missing, double, retired, misplaced
    tenant_id: int | None
    what: str  # a language, or which document, chunk or version
    stored: int
    counted: int


def totals_drift() -> list[Drift]:
    """Languages whose number or length of entries is not what a recount gives."""
    drifts = []
    for tenant, language, entries, counted, length, counted_length in fetch(TOTALS, {}):
        for kind, stored, right in (("entries", entries, counted), ("length", length, counted_length)):
            if stored != right:
                drifts.append(Drift(kind=kind, tenant_id=tenant, what=language, stored=int(stored), counted=int(right)))
    return drifts


def frequencies_drift() -> list[Drift]:
    """Languages with terms whose frequency is not what a recount gives; kind `terms`: entries with unknown terms."""
    return [
        Drift(
            kind="terms" if tenant is None else "frequencies",
            tenant_id=tenant,
            what=f"{terms} of {language or 'no language'}",
            stored=int(stored),
            counted=int(counted),
        )
        for tenant, language, terms, stored, counted in fetch(FREQUENCIES, {})
    ]


def passages_drift() -> list[Drift]:
    """Documents that carry another number of passages or entries than their live version has in the index."""
    drifts = []
    for tenant, document, passages, entries, counted, counted_entries in fetch(PASSAGES, {}):
        stored, right = (passages, counted) if passages != counted else (entries, counted_entries)
        what = f"document {document}"
        drifts.append(Drift(kind="passages", tenant_id=tenant, what=what, stored=stored, counted=right))
    return drifts


def incomplete_documents() -> list[Drift]:
    """Live documents that lack passages or entries; entries that are double, misplaced, or of a retired passage."""
    return [
        Drift(kind=kind, tenant_id=tenant, what=f"{noun} {number}", stored=int(count), counted=right)
        for kind, noun, sql, right in (
            ("missing", "document", MISSING, 0),
            ("double", "chunk", DOUBLE, 1),
            ("retired", "chunk", RETIRED, 0),
            ("misplaced", "version", MISPLACED, 0),
        )
        for tenant, number, count in fetch(sql, {})
    ]


def statistics_recount(*, tenant_id: int) -> None:
    """Write frequencies, totals and numbers of passages of a tenant anew. Call under the lock of its statistics."""
    execute(SET_PASSAGES, {"tenant": tenant_id})
    execute(SET_FREQUENCIES, {"tenant": tenant_id})
    execute(SET_TOTALS, {"tenant": tenant_id})
