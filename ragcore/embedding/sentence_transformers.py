"""Any sentence-transformers model as embedder; the default of production is gte-multilingual-base."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ragcore.client_registry import ClientKind, ClientSettings
from ragcore.embedding.script_trust import trust_told
from ragcore.embedding.sentence_model import SentenceModel, ServedSentenceModel, TextEncoder
from ragcore.embedding.vectors import DIMENSIONS, as_given, model_label
from ragcore.model_process.client import ModelProcess
from ragcore.ports import FloatArray

DEFAULT_MODEL = "Alibaba-NLP/gte-multilingual-base"


class SentenceTransformersEmbedder:
    """Implements ports.Embedder. The model is loaded on first use; a model below 64 dimensions is refused then.

    It is loaded into this process, or, where `process` is given, asked in that one. Vectors of more than 768 numbers
    need `shorten`: they are never cut by themselves. The prefixes are put in front of texts as the model card asks (for
    example "query: " and "passage: "). `pooling` and `max_tokens` stand in for what the model's folder says. Code that
    comes with a model, such as that of gte-multilingual-base, runs only with `trust_remote_code`.
    Raises EmbedderRefusedError with the reason when the model cannot be loaded or is too small, and
    ModelUnavailableError where `process` does not answer.
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
        pooling: str = "",
        max_tokens: int = 0,
        shorten: Callable[..., FloatArray] | None = None,
        process: ModelProcess | None = None,
    ) -> None:
        self.model = model_label(model_name_or_path, query_prefix, document_prefix, pooling, max_tokens)
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._shorten = shorten or as_given
        make = partial(ServedSentenceModel, process) if process else partial(SentenceModel, device=device)
        self._encoder: TextEncoder = make(
            model_name_or_path, trust_remote_code=trust_remote_code, pooling=pooling, max_tokens=max_tokens
        )

    @classmethod
    def from_settings(cls, argument: str, settings: ClientSettings) -> SentenceTransformersEmbedder:
        """A model of the hub or a folder, by name."""
        return cls(
            argument,
            query_prefix=settings.query_prefix,
            document_prefix=settings.document_prefix,
            trust_remote_code=settings.trust_remote_code,
            pooling=settings.pooling,
            max_tokens=settings.max_tokens,
            shorten=settings.shorten,
            process=ModelProcess(settings.model_socket) if settings.model_socket else None,
        )

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self._embed([self._document_prefix + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self._embed([self._query_prefix + text for text in texts], are_questions=True)

    def trust(self, cjk_share: float) -> float:
        """As measured with `shorten`; 1 where it was not."""
        return trust_told(self._shorten, cjk_share)

    def warm(self) -> None:
        """Load the model now, however long that takes; raises EmbedderRefusedError if it does not fit."""
        self._encoder.load()
        self.embed_queries(["ready"])

    def _embed(self, texts: list[str], *, are_questions: bool = False) -> FloatArray:
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        return self._shorten(self._encoder.encode(texts, are_questions=are_questions), model=self.model)

    def whole_vectors(self, texts: Sequence[str]) -> FloatArray:
        """float32[n, d] of documents, as the model gives them."""
        return self._encoder.encode([self._document_prefix + text for text in texts])
