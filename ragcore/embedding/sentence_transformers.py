"""Any sentence-transformers model as embedder (D6); the default of production is gte-multilingual-base."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ragcore.client_registry import ClientKind, ClientSettings
from ragcore.embedding.vectors import DIMENSIONS, matryoshka
from ragcore.errors import EmbedderRefusedError

FloatArray = npt.NDArray[np.float32]

DEFAULT_MODEL = "Alibaba-NLP/gte-multilingual-base"


class SentenceTransformersEmbedder:
    """Implements ports.Embedder. The model is loaded on first use; a model below 768 dimensions is refused then.

    Longer vectors are cut to 768 and normalised, which Matryoshka models are trained for. The prefixes are put
    in front of texts as the model card asks (for example "query: " and "passage: ").
    Raises EmbedderRefusedError with the reason when the model cannot be loaded or is too small.
    """

    client = ClientKind(kind="sentence_transformers", argument="NAME")
    dimensions = DIMENSIONS

    def __init__(
        self,
        model_name_or_path: str = DEFAULT_MODEL,
        device: str | None = None,
        query_prefix: str = "",
        document_prefix: str = "",
        *,
        trust_remote_code: bool = False,
    ) -> None:
        self.model = model_name_or_path
        self._device = device
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._trust_remote_code = trust_remote_code
        self._lock = threading.Lock()  # a torch module is not made for concurrent calls from a CPU pool
        self._encoder: Any = None

    @classmethod
    def from_settings(cls, argument: str, settings: ClientSettings) -> SentenceTransformersEmbedder:
        """A model of the hub or a folder, by name."""
        return cls(argument)

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self._embed([self._document_prefix + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self._embed([self._query_prefix + text for text in texts])

    def trust(self, cjk_share: float) -> float:  # noqa: ARG002 - a multilingual model reads all scripts alike
        """Always 1."""
        return 1.0

    def warm(self) -> None:
        """Load the model now; raises EmbedderRefusedError if it does not fit."""
        self.embed_queries(["ready"])

    def _embed(self, texts: list[str]) -> FloatArray:
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        with self._lock:
            self._encoder = self._encoder or self._load()
            vectors = self._encoder.encode(texts, show_progress_bar=False, convert_to_numpy=True)
        return matryoshka(vectors, model=self.model)

    def _load(self) -> Any:
        from sentence_transformers import SentenceTransformer

        try:
            return SentenceTransformer(self.model, device=self._device, trust_remote_code=self._trust_remote_code)
        except (OSError, ValueError) as error:  # not found, no connection, or not a model
            raise EmbedderRefusedError("not_loaded", model=self.model, problem=str(error)) from error
