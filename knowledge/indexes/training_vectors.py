"""Vectors of the passages that somebody may search, as arrays for training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from accounts.scope import Scope
from knowledge.indexes.binary_vectors import halfvecs_read
from knowledge.indexes.statements import fetch
from knowledge.indexes.visibility import Visible
from ragcore.ports import FloatArray

COUNT = """
SELECT count(*) FROM knowledge_document d JOIN knowledge_wholevector v ON v.version_id = d.live_version_id
WHERE v.tenant_id = %(tenant)s AND v.embedding_model = %(model)s AND d.id IN ({visible})
"""
VECTORS = """
SELECT v.chunk_id, d.id, v.representation = 'body', halfvec_send(v.vector)
FROM knowledge_document d JOIN knowledge_wholevector v ON v.version_id = d.live_version_id
WHERE v.tenant_id = %(tenant)s AND v.embedding_model = %(model)s AND d.id IN ({visible})
ORDER BY md5(d.id::text), v.chunk_id, v.entry_id
LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageVectors:
    """Entries of passages; those of one passage follow each other.

    `chunks`, `documents`: int64[n]; `is_body`: bool[n]; `vectors`: float32[n, 768]. `total`: entries that there are.
    """

    chunks: npt.NDArray[np.int64]
    documents: npt.NDArray[np.int64]
    is_body: npt.NDArray[np.bool_]
    vectors: FloatArray
    total: int


def passage_vectors_load(*, scope: Scope, visible: Visible, model: str, limit: int) -> PassageVectors:
    """At most `limit` entries of one model; of more, those of some documents, the same ones each time."""
    params = {**visible.params, "tenant": scope.tenant_id, "model": model}
    total = int(fetch(visible.applied(COUNT), params)[0][0])
    rows = fetch(visible.applied(VECTORS), {**params, "limit": limit})
    vectors = halfvecs_read([row[3] for row in rows])
    return PassageVectors(
        chunks=np.array([row[0] for row in rows], np.int64),
        documents=np.array([row[1] for row in rows], np.int64),
        is_body=np.array([row[2] for row in rows], bool),
        vectors=vectors.reshape(len(rows), -1),
        total=total,
    )
