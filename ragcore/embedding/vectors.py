"""The vectors that every embedder gives: 768 numbers, L2-normalised, the first 384 usable alone; their cache."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from ragcore.errors import EmbedderRefusedError
from ragcore.pair_port import PairScorer
from ragcore.ports import Embedder, FloatArray, SentenceEmbedder
from ragcore.text.request_cache import cached
from ragcore.types import Query

DIMENSIONS = 768
LEAST_DIMENSIONS = 64  # of a model: the smallest that are offered


def matryoshka(vectors: npt.ArrayLike, *, model: str) -> FloatArray:
    """float32[n, 768], L2-normalised, from float[n, d] with d >= 64; zeros follow fewer than 768 numbers.

    The zeros change no cosine. Raises EmbedderRefusedError if d is smaller, or if the 768 numbers of a text are all
    zero or not finite.
    """
    rows = np.asarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or rows.shape[1] < LEAST_DIMENSIONS:
        width = rows.shape[1] if rows.ndim == 2 else 0
        raise EmbedderRefusedError("dimensions", model=model, dimensions=width, needed=LEAST_DIMENSIONS)
    rows = rows[:, :DIMENSIONS]
    if (missing := DIMENSIONS - rows.shape[1]) > 0:
        rows = np.pad(rows, ((0, 0), (0, missing)))
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.all(np.isfinite(norms)) or np.any(norms == 0):
        raise EmbedderRefusedError("vectors", model=model)
    return np.asarray(rows / norms, dtype=np.float32)


def question_vectors(queries: Iterable[Query]) -> FloatArray:
    """float32[n, 768] of questions that have been embedded."""
    vectors = [query.vector for query in queries if query.vector is not None]
    return np.stack(vectors) if vectors else np.zeros((0, DIMENSIONS), np.float32)


def model_label(model: str, *ways: object) -> str:
    """The name under which vectors are stored: with another prefix or pooling they cannot be compared.

    The plain name where all ways are as the model says.
    """
    if not any(ways):
        return model
    return f"{model}#{sha256(json.dumps(ways).encode()).hexdigest()[:8]}"


def as_given(vectors: npt.ArrayLike, *, model: str) -> FloatArray:
    """The same for vectors of at most 768 numbers. Raises EmbedderRefusedError for longer ones, too.

    Nothing is known of how they may be shortened (`ragcore.embedding.shortening`), and none is cut silently.
    """
    rows = np.asarray(vectors, dtype=np.float32)
    if rows.ndim == 2 and rows.shape[1] > DIMENSIONS:
        raise EmbedderRefusedError("not_fitted", model=model, dimensions=rows.shape[1])
    return matryoshka(rows, model=model)


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


def with_cache(embedder: Embedder) -> CachingEmbedder:
    """The embedder with its cache of questions; itself where it has one."""
    return embedder if isinstance(embedder, CachingEmbedder) else CachingEmbedder(embedder)


def sentence_embedder_of(embedder: Embedder) -> SentenceEmbedder | None:
    """The embedder itself where it gives vectors of sentences, too."""
    bare = _without_cache(embedder)
    return bare if isinstance(bare, SentenceEmbedder) else None


def pair_scorer_of(embedder: Embedder) -> PairScorer | None:
    """The embedder itself where it reads question and sentence together, too."""
    bare = _without_cache(embedder)
    return bare if isinstance(bare, PairScorer) else None


def _without_cache(embedder: Embedder) -> Embedder:
    return embedder.embedder if isinstance(embedder, CachingEmbedder) else embedder
