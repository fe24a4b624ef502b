"""Fit, fill and switch the domain vectors of a tenant beside readers and writers (decision 025).

A fit is registered first: from then on new entries get its vectors. Then the others get theirs, batch by batch, while
searches go on as before. The switch changes one row. The fit before it stays filled, so that the way back is the same
change of one row; older ones are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from knowledge.indexes.binary_vectors import halfvecs_read, sparsevec_read
from knowledge.indexes.copy import EntryRow, latent_vectors_copy
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.statements import execute, fetch
from ragcore.embedding.latent import LatentTerms, SparseRows
from ragcore.ports import FloatArray

# entries that have a vector of the model, whichever model's coarse one they carry at the moment
OF_MODEL = """e.tenant_id = %(tenant)s AND EXISTS (
    SELECT 1 FROM knowledge_wholevector w WHERE w.entry_id = e.id AND w.embedding_model = %(model)s
)"""
SAMPLE = f"""
SELECT sparsevec_send(e.bm25)
FROM knowledge_indexentry e JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE {OF_MODEL} AND d.deleted IS NULL
ORDER BY hashint8(e.id) LIMIT %(limit)s
"""  # noqa: S608 - a constant
COMPARED = """
SELECT e.chunk_id, halfvec_send(v.vector), sparsevec_send(e.bm25), c.text
FROM knowledge_indexentry e
JOIN knowledge_wholevector v ON v.entry_id = e.id AND v.embedding_model = %(model)s
JOIN knowledge_document d ON d.live_version_id = e.version_id
JOIN knowledge_chunk c ON c.id = e.chunk_id
WHERE e.tenant_id = %(tenant)s AND d.deleted IS NULL AND e.representation = 'body'
ORDER BY hashint8(e.id) LIMIT %(limit)s
"""
SINCE = f"""
SELECT sparsevec_send(e.bm25)
FROM knowledge_indexentry e JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE {OF_MODEL} AND e.id > %(after)s AND d.deleted IS NULL
ORDER BY hashint8(e.id) LIMIT %(limit)s
"""  # noqa: S608 - a constant
COUNTS = f"""
SELECT count(*), count(*) FILTER (WHERE e.id > %(after)s), coalesce(max(e.id), 0)
FROM knowledge_indexentry e JOIN knowledge_document d ON d.live_version_id = e.version_id
WHERE {OF_MODEL} AND d.deleted IS NULL
"""  # noqa: S608 - a constant
SAME_TEXT = """
SELECT t.id, same.first FROM knowledge_term t
JOIN (
    SELECT text, min(id) AS first FROM knowledge_term WHERE tenant_id = %(tenant)s GROUP BY text HAVING count(*) > 1
) same ON same.text = t.text
WHERE t.tenant_id = %(tenant)s AND t.id <> same.first
"""
MISSING = """
SELECT e.id, e.chunk_id, e.version_id, e.tenant_id, e.representation, e.language, e.length,
    halfvec_send(v.vector), sparsevec_send(e.bm25)
FROM knowledge_indexentry e
JOIN knowledge_wholevector v ON v.entry_id = e.id AND v.embedding_model = %(model)s
WHERE e.tenant_id = %(tenant)s AND e.id > %(after)s
  AND NOT EXISTS (SELECT 1 FROM knowledge_latentvector l WHERE l.entry_id = e.id AND l.latent_id = %(latent)s)
ORDER BY e.id LIMIT %(limit)s FOR KEY SHARE OF e
"""
ANY_MISSING = f"""
SELECT EXISTS (
    SELECT 1 FROM knowledge_indexentry e
    WHERE {OF_MODEL}
      AND NOT EXISTS (SELECT 1 FROM knowledge_latentvector l WHERE l.entry_id = e.id AND l.latent_id = %(latent)s)
)
"""  # noqa: S608 - a constant
LOCK = """
SELECT latent, latents, latent_off FROM knowledge_tenantvectors
WHERE tenant_id = %(tenant)s AND model = %(model)s FOR UPDATE
"""
REGISTER = """
UPDATE knowledge_tenantvectors SET latents = array_append(latents, %(latent)s::bigint)
WHERE tenant_id = %(tenant)s AND model = %(model)s AND NOT %(latent)s = ANY(latents)
"""
SET = """
UPDATE knowledge_tenantvectors SET latent = %(latent)s, latents = %(latents)s, latent_off = %(off)s
WHERE tenant_id = %(tenant)s AND model = %(model)s
"""
DROP_VECTORS = "DELETE FROM knowledge_latentvector WHERE latent_id = %(latent)s"
DROP_TERMS = "DELETE FROM knowledge_latentterm WHERE latent_id = %(latent)s"


@dataclass(frozen=True, slots=True)
class EntryCounts:
    """Live entries of a tenant and model: all, those after a given one, and the newest id."""

    total: int
    newer: int
    last: int


def entry_counts(*, tenant_id: int, model: str, after: int = 0) -> EntryCounts:
    """Reads every entry's row once; for maintenance."""
    return EntryCounts(*map(int, fetch(COUNTS, {"tenant": tenant_id, "model": model, "after": after})[0]))


def weights_sample(*, tenant_id: int, model: str, limit: int) -> SparseRows:
    """BM25 weights by term id of up to `limit` entries, spread over all of them; a text has one id in all languages."""
    rows = sparse_rows([row[0] for row in fetch(SAMPLE, {"tenant": tenant_id, "model": model, "limit": limit})])
    others = same_text(tenant_id)
    if not others:
        return rows
    ids = np.array(sorted(others), np.int64)
    first = np.array([others[term] for term in ids.tolist()], np.int64)
    places = np.minimum(np.searchsorted(ids, rows.terms), len(ids) - 1)
    return SparseRows(rows.starts, np.where(ids[places] == rows.terms, first[places], rows.terms), rows.weights)


def weights_since(*, tenant_id: int, model: str, after: int, limit: int) -> SparseRows:
    """The same for entries with ids above `after`, with their own ids of terms."""
    params = {"tenant": tenant_id, "model": model, "after": after, "limit": limit}
    return sparse_rows([row[0] for row in fetch(SINCE, params)])


def same_text(tenant_id: int) -> dict[int, int]:
    """Terms that stand in several languages: id to the id by which the analysis knows their text."""
    return {int(term): int(first) for term, first in fetch(SAME_TEXT, {"tenant": tenant_id})}


@dataclass(frozen=True, slots=True)
class ComparedPassages:
    """Passages on which cosines are compared: row i of each."""

    chunks: Sequence[int]
    vectors: FloatArray  # float32[n, 768] of the embedder
    weights: SparseRows
    texts: Sequence[str]


def passages_compared(*, tenant_id: int, model: str, limit: int) -> ComparedPassages:
    """Bodies of up to `limit` live passages, the same ones each time."""
    rows = fetch(COMPARED, {"tenant": tenant_id, "model": model, "limit": limit})
    return ComparedPassages(
        [int(row[0]) for row in rows],
        halfvecs_read([row[1] for row in rows]),
        sparse_rows([row[2] for row in rows]),
        [row[3] for row in rows],
    )


def sparse_rows(sent: Sequence[bytes]) -> SparseRows:
    """Of sparsevecs in their binary form: three numbers, the second one counts the terms; indices from 0; weights."""
    counts = [int.from_bytes(one[4:8], "big") for one in sent]
    starts = np.cumsum([0, *counts], dtype=np.int64)
    terms, weights = np.empty(starts[-1], np.int64), np.empty(starts[-1], np.float32)
    for one, start, count in zip(sent, starts.tolist(), counts, strict=False):
        terms[start : start + count] = np.frombuffer(one, ">i4", count, 12)
        weights[start : start + count] = np.frombuffer(one, ">f4", count, 12 + 4 * count)
    return SparseRows(starts, terms + 1, weights)


# ── filling and switching ─────────────────────────────────────────────────────────────────────────


def latent_register(*, tenant_id: int, model: str, latent: int) -> None:
    """From the commit on, new entries get vectors of this fit, too. Waits for writers. Call in a transaction."""
    execute(REGISTER, {"tenant": tenant_id, "model": model, "latent": latent})


@dataclass(frozen=True, slots=True)
class Filled:
    """How many entries got a vector, and the id of the last one."""

    count: int
    last: int


def latent_fill(*, tenant_id: int, model: str, latent: int, terms: LatentTerms, after: int, limit: int) -> Filled:
    """Give the next `limit` entries without a vector of this fit theirs. Call in a transaction."""
    params = {"tenant": tenant_id, "model": model, "latent": latent, "after": after, "limit": limit}
    rows = fetch(MISSING, params)
    if not rows:
        return Filled(0, after)
    vectors = halfvecs_read([row[7] for row in rows])
    entries = []
    for place, row in enumerate(rows):
        entry = EntryRow(
            chunk_id=row[1],
            version_id=row[2],
            tenant_id=row[3],
            representation=row[4],
            language=row[5],
            length=row[6],
            vector=vectors[place],
            weights=sparsevec_read(row[8]),
            embedding_model=model,
        )
        entries.append((int(row[0]), entry))
    latent_vectors_copy(entries, latent=latent, terms=terms)
    return Filled(len(entries), entries[-1][0])


def is_filled(*, tenant_id: int, model: str, latent: int) -> bool:
    """Whether every entry has a vector of this fit. Sure only where the state is locked."""
    return not fetch(ANY_MISSING, {"tenant": tenant_id, "model": model, "latent": latent})[0][0]


@dataclass(frozen=True, slots=True)
class LatentState:
    """Which fits a tenant and model have."""

    latent: int  # that searches use; 0: none
    latents: Sequence[int]  # that are kept filled
    off: bool  # an administrator wants none


def state_lock(*, tenant_id: int, model: str) -> LatentState:
    """Which fits there are, locked until the transaction ends; writers wait."""
    found = fetch(LOCK, {"tenant": tenant_id, "model": model})
    return LatentState(*found[0]) if found else LatentState(0, (), off=False)


def state_set(*, tenant_id: int, model: str, latent: int, latents: Sequence[int], off: bool) -> None:
    """Which fit searches use from the commit on. Call where the state is locked.

    Kept answers become stale: what a search finds is another order of passages.
    """
    params = {"tenant": tenant_id, "model": model, "latent": latent, "latents": list(latents), "off": off}
    execute(SET, params)
    epoch_advance(tenant_id=tenant_id)


def latent_drop(latent: int) -> int:
    """Delete the vectors and terms of a fit that nothing uses any more; returns how many vectors there were."""
    execute(DROP_TERMS, {"latent": latent})
    return execute(DROP_VECTORS, {"latent": latent})
