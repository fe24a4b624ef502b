"""Divide a tenant's vectors into cells, beside readers and writers (decision 039).

`division_add`, then `vectors_divide` until nothing is left, then `former_drop`. In between, searches look into the
cells of both divisions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from django.db import connection

from knowledge.indexes.binary_vectors import halfvecs_read
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.statements import execute, fetch
from knowledge.indexes.vector_cells import (
    SPAN,
    CellFigures,
    cell_numbers,
    counts_packed,
    divisions_of,
    halves_packed,
)
from ragcore.embedding.cells import Cells, Ints, normalised
from ragcore.ports import FloatArray

ADD = """
INSERT INTO knowledge_vectorcells
    (tenant_id, name, centres, projection, counts, passages, measured, measured_passages, created)
VALUES (%(tenant)s, %(name)s, %(centres)s, %(projection)s, %(counts)s, %(passages)s, '{}', 0, now()) RETURNING id
"""
SAMPLE = """
SELECT halfvec_send(vector) FROM knowledge_wholevector WHERE embedding_model = %(name)s AND entry_id IN (
    SELECT entry_id FROM knowledge_wholevector WHERE tenant_id = %(tenant)s AND embedding_model = %(name)s
    ORDER BY hashint8(entry_id) LIMIT %(limit)s
)
"""
TEXTS = """
SELECT c.text FROM knowledge_indexentry e
JOIN knowledge_wholevector v ON v.entry_id = e.id AND v.embedding_model = %(name)s
JOIN knowledge_document d ON d.live_version_id = e.version_id
JOIN knowledge_chunk c ON c.id = e.chunk_id
WHERE e.tenant_id = %(tenant)s AND d.deleted IS NULL AND e.representation = 'body'
ORDER BY hashint8(e.id) LIMIT %(limit)s
"""
COUNT = "SELECT count(*) FROM knowledge_wholevector WHERE tenant_id = %(tenant)s AND embedding_model = %(name)s"
UNDIVIDED = """
SELECT entry_id, halfvec_send(vector) FROM knowledge_wholevector
WHERE tenant_id = %(tenant)s AND embedding_model = %(name)s AND entry_id > %(after)s
  AND NOT cell BETWEEN %(first)s AND %(last)s
ORDER BY entry_id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
"""
DIVIDE = """
UPDATE knowledge_wholevector v SET cell = moved.cell
FROM unnest(%(ids)s::bigint[], %(cells)s::int[]) AS moved (entry_id, cell)
WHERE v.entry_id = moved.entry_id AND v.embedding_model = %(name)s
"""
AFTER = """
SELECT entry_id, cell, halfvec_send(vector) FROM knowledge_wholevector
WHERE tenant_id = %(tenant)s AND embedding_model = %(name)s AND entry_id > %(after)s
ORDER BY entry_id LIMIT %(limit)s
"""
STORE = """
UPDATE knowledge_vectorcells
SET counts = %(counts)s, measured = %(measured)s::float8[], measured_passages = %(passages)s WHERE id = %(id)s
"""
LOCK = """
SELECT id FROM knowledge_vectorcells WHERE tenant_id = %(tenant)s AND name = %(name)s AND id < %(newest)s FOR UPDATE
"""
ANY_OF = """
SELECT EXISTS (
    SELECT 1 FROM knowledge_wholevector
    WHERE tenant_id = %(tenant)s AND cell >= %(first)s AND cell <= %(last)s
)
"""
DROP = "DELETE FROM knowledge_vectorcells WHERE id = %(id)s"
NAMES = "SELECT DISTINCT tenant_id, name FROM knowledge_vectorcells ORDER BY tenant_id, name"


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorSet:
    """The vectors of a tenant that have one name: that of an embedding model."""

    tenant_id: int
    name: str

    @property
    def params(self) -> dict[str, object]:
        return {"tenant": self.tenant_id, "name": self.name}


def span_of(division: int) -> dict[str, int]:
    """The first and the last number of its cells."""
    return {"first": division * SPAN, "last": division * SPAN + SPAN - 1}


# ── making a division ─────────────────────────────────────────────────────────────────────────────


def set_count(vectors: VectorSet) -> int:
    """How many vectors there are, also of versions that are not live. Reads all of them: for maintenance only."""
    return int(fetch(COUNT, vectors.params)[0][0])


def set_sample(vectors: VectorSet, *, limit: int) -> FloatArray:
    """float32[n, 768], normalised, of up to `limit`, spread over all of them, the same ones each time."""
    rows = fetch(SAMPLE, {**vectors.params, "limit": limit})
    return normalised(halfvecs_read([row[0] for row in rows])) if rows else np.zeros((0, 768), np.float32)


def set_texts(vectors: VectorSet, *, limit: int) -> list[str]:
    """Bodies of up to `limit` live passages, the same ones each time."""
    return [row[0] for row in fetch(TEXTS, {**vectors.params, "limit": limit})]


def division_add(vectors: VectorSet, cells: Cells, *, projection: FloatArray, passages: int) -> int:
    """Store a division, into which new vectors go from the commit on; returns its number. Call in a transaction.

    Move no vector that has cells before searches that began earlier have ended.
    """
    packed = {
        "centres": halves_packed(cells.centres),
        "projection": halves_packed(projection),
        "counts": counts_packed(cells),
    }
    division = int(fetch(ADD, {**vectors.params, **packed, "passages": passages})[0][0])
    epoch_advance(tenant_id=vectors.tenant_id, sets=())
    return division


@dataclass(frozen=True, slots=True)
class Moved:
    """How many vectors got a cell, and the entry of the last one."""

    count: int
    last: int


def vectors_divide(vectors: VectorSet, division: int, *, after: int, limit: int) -> Moved:
    """Give the next `limit` vectors of entries above `after` their cells in a division. Call in a transaction."""
    asked = {**vectors.params, **span_of(division), "after": after, "limit": limit}
    rows = fetch(UNDIVIDED, asked)
    if not rows:
        return Moved(0, after)
    ids = [int(row[0]) for row in rows]
    cells = cell_numbers(halfvecs_read([row[1] for row in rows]), division)
    execute(DIVIDE, {"ids": ids, "cells": cells.tolist(), "name": vectors.name})
    return Moved(len(ids), ids[-1])


def former_drop(vectors: VectorSet, *, newest: int) -> bool:
    """Forget the divisions before the newest one that no vector is in; False while some are. Call in a transaction."""
    is_done = True
    for (division,) in fetch(LOCK, {**vectors.params, "newest": newest}):  # waits for writers into its cells
        if fetch(ANY_OF, {**vectors.params, **span_of(division)})[0][0]:
            is_done = False
        else:
            execute(DROP, {"id": division})
    return is_done


def unused_drop(vectors: VectorSet) -> int:
    """Forget the divisions of vectors that are gone, as those of a former model; how many. Call in a transaction."""
    rows = divisions_of(tenant_id=vectors.tenant_id, name=vectors.name).divisions
    if any(fetch(ANY_OF, {**vectors.params, **span_of(one.id)})[0][0] for one in rows):
        return 0
    return sum(execute(DROP, {"id": one.id}) for one in rows)


def divided_names() -> list[tuple[int, str]]:
    """Tenants and names of all divided vectors."""
    return [(int(tenant), name) for tenant, name in fetch(NAMES, {})]


def vectors_vacuum() -> None:
    """Free the space of moved rows. Call outside a transaction."""
    if connection.in_atomic_block:
        raise RuntimeError("tables are vacuumed outside of transactions")
    execute("VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF) knowledge_wholevector", {})


# ── reading all of them ───────────────────────────────────────────────────────────────────────────


def set_batches(vectors: VectorSet, division: int, *, size: int) -> Iterator[tuple[Ints, FloatArray]]:
    """All vectors in a division, batch by batch: the place of each one's cell, and float32[n, 768], normalised."""
    after = 0
    span = span_of(division)
    while rows := fetch(AFTER, {**vectors.params, "after": after, "limit": size}):
        after = rows[-1][0]
        cells = np.array([row[1] for row in rows], np.int64)
        is_here = (cells >= span["first"]) & (cells <= span["last"])
        if is_here.any():
            yield (cells - span["first"])[is_here], normalised(halfvecs_read([row[2] for row in rows]))[is_here]


def figures_store(vectors: VectorSet, division: int, *, cells: Cells, figures: CellFigures, passages: int) -> None:
    """From the commit on, searches use a division with these figures. Call in a transaction."""
    stored = {"counts": counts_packed(cells), "measured": figures.stored(), "passages": passages}
    execute(STORE, {**stored, "id": division})
    epoch_advance(tenant_id=vectors.tenant_id, sets=())
