"""An embedder that is asked for the vector of a question once an answer (D33)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragcore.ports import Embedder, FloatArray
from ragcore.text.request_cache import cached


class CachingEmbedder:
    """Implements ports.Embedder: the given one, whose vectors of questions are kept within `computed_once`."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.model = embedder.model
        self.dimensions = embedder.dimensions

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self.embedder.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder; one question is remembered, several at once go to the embedder together."""
        if len(texts) != 1:
            return self.embedder.embed_queries(texts)
        return np.array(cached((id(self.embedder), "question", texts[0]), lambda: self.embedder.embed_queries(texts)))

    def trust(self, cjk_share: float) -> float:
        """See ports.Embedder."""
        return self.embedder.trust(cjk_share)
