"""The vectors that every embedder gives: 768 numbers, L2-normalised, the first 384 usable alone; their cache."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from ragcore.errors import EmbedderRefusedError
from ragcore.pair_port import PairScorer
from ragcore.ports import Embedder, FloatArray, SentenceEmbedder
from ragcore.text.request_cache import cached

DIMENSIONS = 768
LEAST_DIMENSIONS = 64  # of a model: the smallest that are offered

_BLOCK = DIMENSIONS + 1
_NUMBERS = 2**24  # whole numbers that a float32 tells apart


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


def plain(vector: FloatArray) -> FloatArray:
    """The site's own 768 numbers of a question, which may have further ones after them."""
    return vector[:DIMENSIONS]


# ── vectors of the same question by the models of knowledge sets (decision 041) ───────────────────
# They follow the site's numbers in blocks of 769: a number that says whose vector it is, and the vector. So the length
# of a question's vector tells how many blocks there are.


def with_set_vectors(vectors: FloatArray, added: Mapping[int, FloatArray]) -> FloatArray:
    """float32[n, d + 769 k]: questions with their vectors by k further models, float32[n, 768] by the model's number.

    A vector of zeros says that there is none.
    """
    parts = [vectors]
    for number, rows in added.items():
        parts += [np.full((len(vectors), 1), number % _NUMBERS, np.float32), rows]
    return np.hstack(parts)


def without_set_vectors(vectors: FloatArray) -> FloatArray:
    """The site's numbers of a question, float32[d], or of several, float32[n, d]."""
    blocks = vectors.shape[-1] % DIMENSIONS
    return vectors[..., : vectors.shape[-1] - _BLOCK * blocks]


def set_vector(vector: FloatArray, number: int) -> FloatArray | None:
    """float32[768] by the model of this number; None where the question has none."""
    start = without_set_vectors(vector).shape[-1]
    for place in range(start, len(vector), _BLOCK):
        if int(vector[place]) == number % _NUMBERS:
            block = vector[place + 1 : place + _BLOCK]
            return block if bool(np.any(block)) else None
    return None


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
