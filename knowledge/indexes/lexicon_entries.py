"""Whole terms of a lexicon in the entries of the index: found by their parts, added under the statistics' lock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knowledge.indexes.lexical import document_side, length_norm, sparse_parse, sparse_text, term_frequency
from knowledge.indexes.lexical_statistics import (
    TEXTS,
    effective_length,
    passages_count,
    statistics_lock,
    term_ids,
)
from knowledge.indexes.statements import execute, fetch

PARTS = """
SELECT text, id FROM knowledge_term
WHERE tenant_id = %(tenant)s AND text = ANY(%(texts)s) AND frequency > 0
"""
# passages that have all parts of one of the names; a name without parts brings none
WITH_PARTS = """
SELECT DISTINCT e.chunk_id
FROM unnest(%(queries)s::text[]) AS name (parts)
CROSS JOIN LATERAL (
    SELECT i.chunk_id, i.version_id FROM knowledge_indexentry i
    WHERE i.lexemes @@ name.parts::tsquery AND i.tenant_id = %(tenant)s
) e
JOIN knowledge_document d ON d.live_version_id = e.version_id
ORDER BY e.chunk_id
"""
TEXTS_OF_PASSAGES = """
SELECT c.id, d.title, c.heading_path, c.text
FROM knowledge_chunk c JOIN knowledge_document d ON d.live_version_id = c.version_id
WHERE c.id = ANY(%(chunks)s) AND d.tenant_id = %(tenant)s
"""
ENTRIES = """
SELECT e.id, e.chunk_id, e.representation, e.language, e.length, e.bm25::text
FROM knowledge_indexentry e JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE e.chunk_id = ANY(%(chunks)s) AND e.tenant_id = %(tenant)s ORDER BY e.id
"""
REFERENCES = """
SELECT language, reference_length, former_reference, reweighed_to, reweigh_until
FROM knowledge_lexicalstatistics WHERE tenant_id = %(tenant)s
"""
REWRITE = """
UPDATE knowledge_indexentry e
SET bm25 = fresh.weights::sparsevec, lexemes = fresh.lexemes::tsvector
FROM unnest(%(ids)s::bigint[], %(weights)s::text[], %(lexemes)s::text[]) AS fresh (id, weights, lexemes)
WHERE e.id = fresh.id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageText:
    """What a passage is indexed with besides its own text."""

    chunk: int
    title: str
    heading_path: Sequence[str]
    text: str


def passages_with_parts(*, tenant_id: int, names: Sequence[Sequence[str]]) -> list[int]:
    """Live passages of a tenant, by id, that have all terms of one of the names, in any language."""
    texts = sorted({part for parts in names for part in parts})
    ids: dict[str, list[int]] = {}
    for text, term in fetch(PARTS, {"tenant": tenant_id, "texts": texts}):
        ids.setdefault(text, []).append(term)
    indexed = [parts for parts in names if parts and all(part in ids for part in parts)]
    if not indexed:
        return []
    any_language = {text: f"({' | '.join(map(str, same))})" for text, same in ids.items()}
    queries = [" & ".join(any_language[part] for part in dict.fromkeys(parts)) for parts in indexed]
    return [row[0] for row in fetch(WITH_PARTS, {"tenant": tenant_id, "queries": queries})]


def passage_texts(*, tenant_id: int, chunks: Sequence[int]) -> list[PassageText]:
    """Texts of live passages."""
    rows = fetch(TEXTS_OF_PASSAGES, {"tenant": tenant_id, "chunks": list(chunks)})
    return [PassageText(chunk=row[0], title=row[1], heading_path=row[2], text=row[3]) for row in rows]


def whole_terms_add(*, tenant_id: int, terms: Mapping[int, Sequence[str]]) -> int:
    """Add whole terms to the entries of passages, by chunk; returns how many passages changed. Call in a transaction.

    They do not count for the length of a passage: its other terms weigh what they did before.
    Entries that have a term already keep it as it is, so that this may be repeated. Summaries and questions are found
    by the parts; whole terms come into them when their document is processed again.
    """
    totals = statistics_lock(tenant_id=tenant_id)
    entries = fetch(ENTRIES, {"tenant": tenant_id, "chunks": sorted(terms)})
    ids = {
        language: term_ids(tenant_id=tenant_id, language=language, texts=texts)
        for language in totals
        if (
            texts := {
                t for _, chunk, _, entry_language, _, _ in entries if entry_language == language for t in terms[chunk]
            }
        )
    }
    references = {row[0]: row[1:] for row in fetch(REFERENCES, {"tenant": tenant_id})}
    changed: dict[int, tuple[str, str]] = {}
    chunks: set[int] = set()
    for entry, chunk, kind, language, length, text in entries:
        weights = sparse_parse(text)
        counts = Counter(ids[language][term] for term in terms[chunk]) if language in ids else Counter[int]()
        missing = {term: count for term, count in counts.items() if term not in weights}
        if not missing or kind not in TEXTS:
            continue
        reference = _reference(entry, references[language])
        norm = length_norm(length=effective_length(kind, length, reference), average_length=reference)
        frequencies = {term: term_frequency(weight, norm) for term, weight in weights.items()} | missing
        side = document_side(frequencies, length=effective_length(kind, length, reference), average_length=reference)
        changed[entry] = (sparse_text(side), " ".join(str(term) for term in sorted(side)))
        chunks.add(chunk)
    if changed:
        passages_count(tenant_id=tenant_id, chunk_ids=sorted(chunks), sign=-1)
        weights_, lexemes = zip(*changed.values(), strict=True)
        execute(REWRITE, {"ids": list(changed), "weights": list(weights_), "lexemes": list(lexemes)})
        passages_count(tenant_id=tenant_id, chunk_ids=sorted(chunks), sign=+1)
    return len(chunks)


def _reference(entry: int, state: tuple[float, float | None, int, int]) -> float:
    """The average length that the document side of an entry was made with, while a reweighing runs, too."""
    reference, former, last, until = state
    return former if former is not None and last < entry <= until else reference
