"""Vectors for a batch, asked for in the order that costs least (D6, D30)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from knowledge.engines import embedder
from knowledge.models.index import FINE_DIMENSIONS
from knowledge.services.ingestion.describing import Prepared
from knowledge.services.ingestion.leases import Holding
from knowledge.services.model_slots import embedding_slot
from ragcore.ports import FloatArray

EMBEDDED_TEXTS = 64  # at a time: some seconds on a processor, far below the length of a lease


def texts_embed(prepared: Sequence[Prepared], holding: Holding) -> FloatArray:
    """float32[n, 768] for all representations of a batch, in order.

    Texts of like length are sent together, as models pad the shorter ones, and equal texts once.
    Raises ModelUnavailableError, EmbedderRefusedError, WorkStoppedError, ValueError for numbers that are not finite.
    """
    texts = [r.embedded_text for one in prepared for r in one.representations]
    unique = sorted(set(texts), key=len)
    rows: dict[str, FloatArray] = {}
    for start in range(0, len(unique), EMBEDDED_TEXTS):
        group = unique[start : start + EMBEDDED_TEXTS]
        with embedding_slot(alive=holding.alive):
            rows.update(zip(group, embedder().embed_documents(group), strict=True))
        if len(rows) < len(unique):  # the end of the stage is written down with the next one
            holding.progress(len(rows), len(unique))
    vectors = np.stack([rows[text] for text in texts]) if texts else np.zeros((0, FINE_DIMENSIONS), np.float32)
    if not np.isfinite(vectors).all():
        raise ValueError("the embedder returned numbers that are not finite")
    return vectors
