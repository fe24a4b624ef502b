"""Document sides of BM25 for a new average length, in batches between which people publish.

The average length moves as documents come and go; when it is more than DRIFT from the reference that document sides
were computed with, they are computed again. That is begun under the lock of the statistics: the new reference takes
its place, the old one is kept as `former_reference`, and so is the highest id of an entry. Ids are taken under the
same lock, so all entries up to that one have the former reference and all later ones the new one. Each batch takes the
next ids, under the lock again, and says how far it came: an interrupted run goes on there, and no weight is ever
inverted with a reference it was not made with.

Meanwhile entries of both references stand beside each other. Each is right for an average that is at most some tens of
per cent from the true one; with a drift of 10 % a term that occurs once weighs 4 % more or less. That is the error
with which all entries were compared until then, for as long as the batches take.
"""

from __future__ import annotations

from dataclasses import dataclass

from knowledge.indexes.bm25 import document_side, length_norm, term_frequency
from knowledge.indexes.rows import execute, fetch
from knowledge.indexes.sparse import sparse_parse, sparse_text
from knowledge.indexes.statistics import effective_length, statistics_lock

DRIFT = 0.10  # of the average length, beyond which document sides are computed again

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
class Step:
    """One batch: how many entries it changed, and whether it was the last."""

    changed: int
    is_over: bool


def statistics_drifted() -> list[tuple[int, str]]:
    """(tenant id, language) whose average length has moved too far from the reference."""
    return [(tenant, language) for tenant, language in fetch(DRIFTED, {"drift": DRIFT})]


def reweighing_due() -> list[tuple[int, str]]:
    """(tenant id, language) with work to do: what was begun first, then what has drifted."""
    begun = [(tenant, language) for tenant, language in fetch(UNDER_WAY, {})]
    return begun + statistics_drifted()


def reweigh_begin(*, tenant_id: int, language: str) -> None:
    """Move the reference to today's average; nothing changes where that is under way. Call in a transaction."""
    statistics_lock(tenant_id=tenant_id)
    execute(BEGIN, {"tenant": tenant_id, "language": language})


def reweigh_step(*, tenant_id: int, language: str, limit: int) -> Step:
    """Compute the document sides of the next entries. Call in a transaction."""
    statistics_lock(tenant_id=tenant_id)
    which = {"tenant": tenant_id, "language": language}
    former, reference, after, until = fetch(STATE, which)[0]
    if former is None:
        return Step(0, is_over=True)
    rows = fetch(NEXT, {**which, "after": after, "until": until, "limit": limit})
    if rows:
        weights = [
            _reweighed(text, kind=kind, length=length, old=former, new=reference) for _, kind, length, text in rows
        ]
        execute(REWEIGH, {"ids": [row[0] for row in rows], "weights": weights})
        execute(ADVANCE, {**which, "last": rows[-1][0]})
    if len(rows) < limit:
        execute(END, which)
    return Step(len(rows), is_over=len(rows) < limit)


def _reweighed(text: str, *, kind: str, length: int, old: float, new: float) -> str:
    norm = length_norm(length=effective_length(kind, length, old), average_length=old)
    frequencies = {term: term_frequency(weight, norm) for term, weight in sparse_parse(text).items()}
    return sparse_text(document_side(frequencies, length=effective_length(kind, length, new), average_length=new))
