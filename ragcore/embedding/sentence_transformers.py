"""Any sentence-transformers model as embedder (D6); the default of production is gte-multilingual-base."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ragcore.client_registry import ClientKind, ClientSettings
from ragcore.embedding.script_trust import trust_told
from ragcore.embedding.vectors import DIMENSIONS, as_given, model_label
from ragcore.errors import EmbedderRefusedError
from ragcore.model_memory import model_load

FloatArray = npt.NDArray[np.float32]

LEAST_TOKENS = 128  # a model that reads less of a passage knows too little of it
DEFAULT_MODEL = "Alibaba-NLP/gte-multilingual-base"


class SentenceTransformersEmbedder:
    """Implements ports.Embedder. The model is loaded on first use; a model below 64 dimensions is refused then.

    Vectors of more than 768 numbers need `shorten`: they are never cut by themselves. The prefixes are put in front of
    texts as the model card asks (for example "query: " and "passage: "). `pooling` and `max_tokens` stand in for what
    the model's folder says. Code that comes with a model, such as that of gte-multilingual-base, runs only with
    `trust_remote_code`.
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
        pooling: str = "",
        max_tokens: int = 0,
        shorten: Callable[..., FloatArray] | None = None,
    ) -> None:
        self.model = model_label(model_name_or_path, query_prefix, document_prefix, pooling, max_tokens)
        self._source = model_name_or_path
        self._device = device
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._trust_remote_code = trust_remote_code
        self._pooling, self._max_tokens = pooling, max_tokens
        self._shorten = shorten or as_given
        self._lock = threading.Lock()  # a torch module is not made for concurrent calls from a CPU pool
        self._encoder: Any = None

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
        )

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self._embed([self._document_prefix + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder."""
        return self._embed([self._query_prefix + text for text in texts])

    def trust(self, cjk_share: float) -> float:
        """As measured with `shorten`; 1 where it was not."""
        return trust_told(self._shorten, cjk_share)

    def warm(self) -> None:
        """Load the model now; raises EmbedderRefusedError if it does not fit."""
        self.embed_queries(["ready"])

    def _embed(self, texts: list[str]) -> FloatArray:
        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        return self._shorten(self._encoded(texts), model=self.model)

    def whole_vectors(self, texts: Sequence[str]) -> FloatArray:
        """float32[n, d] of documents, as the model gives them."""
        return self._encoded([self._document_prefix + text for text in texts])

    def _encoded(self, texts: list[str]) -> FloatArray:
        with self._lock:
            self._encoder = self._encoder or self._load()
            vectors = self._encoder.encode(texts, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(vectors, dtype=np.float32)

    def _load(self) -> Any:
        try:
            with model_load(self.model) as noted:
                from sentence_transformers import SentenceTransformer

                loaded = SentenceTransformer(
                    self._source, device=self._device, trust_remote_code=self._trust_remote_code
                )
                noted.weigh(loaded.parameters())
        except Exception as error:  # whatever a model's files and its code may raise
            problem = str(error) or type(error).__name__
            reason = "code_not_trusted" if "trust_remote_code" in problem else "not_loaded"
            raise EmbedderRefusedError(reason, model=self.model, problem=problem) from error
        self._set_pooling(loaded)
        self._set_length(loaded)
        return loaded

    def _set_pooling(self, loaded: Any) -> None:
        """The pooling that somebody has named in the place of the model's."""
        if not self._pooling:
            return
        from sentence_transformers.models import Pooling

        at = next((place for place, part in enumerate(loaded) if isinstance(part, Pooling)), None)
        if at is None or self._pooling not in Pooling.POOLING_MODES:
            raise EmbedderRefusedError("pooling", model=self.model, pooling=self._pooling)
        loaded[at] = Pooling(loaded[at].embedding_dimension, pooling_mode=self._pooling)

    def _set_length(self, loaded: Any) -> None:
        """How much of a text is read: what was named, within what the model has positions for."""
        config = getattr(getattr(loaded[0], "auto_model", None), "config", None)
        positions = getattr(config, "max_position_embeddings", None)
        special = int(getattr(config, "pad_token_id", 0) or 0) + 1 if _counts_from_padding(config) else 0
        most = int(positions) - special if positions else None
        said = self._max_tokens or loaded.max_seq_length
        length = min(one for one in (said, most) if one) if said or most else None
        if length is not None and length < LEAST_TOKENS:
            raise EmbedderRefusedError("cuts_texts", model=self.model, tokens=length, least=LEAST_TOKENS)
        if length != loaded.max_seq_length:  # models of fixed word vectors read texts of any length
            loaded.max_seq_length = length


def _counts_from_padding(config: Any) -> bool:
    """Whether positions begin behind the padding token, as in RoBERTa and its descendants (514 for 512 tokens)."""
    return "roberta" in str(getattr(config, "model_type", ""))
