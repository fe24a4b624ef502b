"""The embedder that needs no download: a small English model and hashed n-grams in one vector (D6)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ragcore.providers.minilm import DIMENSIONS, MiniLm
from ragcore.providers.ngrams import hashed_ngrams
from ragcore.text.scripts import cjk_share

FloatArray = npt.NDArray[np.float32]

# Share of the model in the inner product, by script; best nDCG@10 on two Chinese and two English sets.
MODEL_SHARE_LATIN = 0.45
MODEL_SHARE_CJK = 0.15
# Upper end of the good weights of the vectors beside BM25 (relative score fusion); see decision 005.
TRUST_LATIN = 0.5
TRUST_CJK = 0.3


class EmbeddedEmbedder:
    """Implements ports.Embedder with all-MiniLM-L6-v2 (384) and signed n-gram hashes (384), 768 in all.

    With a and b the two halves, weighted by the script of the text, the vector is [a + b, a - b] / sqrt(2).
    The rotation leaves all 768-d cosines as they are with [a, b], and makes the first 384 numbers carry both
    halves, so that the coarse search also works for Chinese, which the model cannot read.
    """

    model = "embedded-minilm-ngrams-1"
    dimensions = 2 * DIMENSIONS

    def __init__(self, cache_dir: Path, threads: int = 0) -> None:
        self._cache_dir = cache_dir
        self._threads = threads
        self._lock = threading.Lock()
        self._minilm: MiniLm | None = None

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        minilm = self._loaded()
        share = np.array([_model_share(text) for text in texts], np.float32)[:, None]
        a = np.sqrt(share) * minilm.encode(texts)
        b = np.sqrt(1 - share) * hashed_ngrams(texts, dimensions=DIMENSIONS, rarity=minilm.rarity)
        vectors = np.hstack([a + b, a - b])
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder; questions and passages are treated alike."""
        return self.embed_documents(texts)

    def trust(self, cjk_share: float) -> float:
        """Falls linearly with the share of CJK, for which there is no model but only n-grams."""
        return TRUST_LATIN + (TRUST_CJK - TRUST_LATIN) * min(max(cjk_share, 0.0), 1.0)

    def warm(self) -> None:
        """Load everything now, rather than with the first question."""
        self.embed_queries(["ready 就绪"])

    def _loaded(self) -> MiniLm:
        with self._lock:
            if self._minilm is None:
                self._minilm = MiniLm(self._cache_dir, threads=self._threads)
            return self._minilm


def _model_share(text: str) -> float:
    """Weight of the model's half for a text, by its script."""
    return MODEL_SHARE_LATIN + (MODEL_SHARE_CJK - MODEL_SHARE_LATIN) * cjk_share(text)
