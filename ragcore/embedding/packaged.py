"""What the embedders that need no download have in common: one model on ONNX Runtime beside hashed n-grams."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Generic, Self, TypeVar

import numpy as np

from ragcore.client_registry import ClientSettings
from ragcore.ports import FloatArray

KEPT_SENTENCES = 2048  # whose vectors a process keeps, three kilobytes each
KEPT_CHARACTERS = 600  # of such a sentence

ModelT = TypeVar("ModelT")


class PackagedEmbedder(ABC, Generic[ModelT]):
    """Implements ports.Embedder with a model that is exported into the folder of models and loaded on first use."""

    model: str
    dimensions = 768
    floor: float | None = None  # default of the option `min_cosine`; None: the option's own

    def __init__(self, cache_dir: Path, threads: int = 0) -> None:
        self._cache_dir = cache_dir
        self._threads = threads
        self._lock = threading.Lock()
        self._model: ModelT | None = None
        self._kept = lru_cache(maxsize=KEPT_SENTENCES)(lambda text: self._embed([text], is_query=False))

    @classmethod
    def from_settings(cls, argument: str, settings: ClientSettings) -> Self:
        """With the folder of models and the threads of the settings."""
        return cls(cache_dir=settings.models_dir, threads=settings.threads)

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder; a single sentence is kept: that of a passage answers more than one question."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        if len(texts) == 1 and len(texts[0]) <= KEPT_CHARACTERS:
            return np.array(self._kept(texts[0]))
        return self._embed(texts, is_query=False)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self._embed(texts, is_query=True) if texts else np.zeros((0, self.dimensions), np.float32)

    def warm(self) -> None:
        """Load everything now, rather than with the first question."""
        self.embed_queries(["ready 就绪"])

    @property
    def loaded(self) -> ModelT:
        """The model, loaded once."""
        with self._lock:
            if self._model is None:
                self._model = self._load(self._cache_dir, self._threads)
            return self._model

    @classmethod
    @abstractmethod
    def prepare(cls, cache_dir: Path) -> None:
        """Export the model, where that is not done yet. Raises EmbedderRefusedError where it cannot be had."""

    @abstractmethod
    def trust(self, cjk_share: float) -> float:
        """See ports.Embedder."""

    @abstractmethod
    def _load(self, cache_dir: Path, threads: int) -> ModelT:
        """Raises EmbedderRefusedError where the model cannot be had."""

    @abstractmethod
    def _embed(self, texts: Sequence[str], *, is_query: bool) -> FloatArray:
        """float32[n, 768], L2-normalised, for at least one text."""


def joined(a: FloatArray, b: FloatArray) -> FloatArray:
    """float32[n, columns of both], L2-normalised."""
    vectors = np.hstack([a, b])
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)
