"""Models of sentence-transformers: loaded into this process, or asked in the one that holds them for all."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ragcore.errors import EmbedderRefusedError
from ragcore.model_memory import model_load
from ragcore.model_process.client import BATCH_SECONDS, QUESTION_SECONDS, ModelProcess
from ragcore.model_process.protocol import ModelKey, Request, RequestTooLargeError, text_batches
from ragcore.ports import FloatArray

KIND = "sentences"  # of the model process
LEAST_TOKENS = 128  # a model that reads less of a passage knows too little of it
QUESTION_TEXTS = 16  # a question with its rewordings; who sends more has time


class TextEncoder(Protocol):
    """Texts to vectors, as a model gives them. Thread-safe."""

    def load(self) -> None:
        """Load the model where it is not loaded, however long that takes. Raises EmbedderRefusedError."""
        ...

    def encode(self, texts: Sequence[str], *, are_questions: bool = False) -> FloatArray:
        """float32[n, d], row i for text i. Raises EmbedderRefusedError, ModelUnavailableError."""
        ...


class SentenceModel:
    """Implements TextEncoder, and ServedModel of the model process. Loaded on first use.

    `pooling` and `max_tokens` stand in for what the model's folder says ("", 0). `name`: in errors.
    """

    batch = 0

    def __init__(
        self,
        source: str,
        *,
        device: str | None = None,
        trust_remote_code: bool = False,
        pooling: str = "",
        max_tokens: int = 0,
    ) -> None:
        self._source, self._device = source, device
        self._trust_remote_code = trust_remote_code
        self._pooling, self._max_tokens = pooling, max_tokens
        self._lock = threading.Lock()  # a torch module is not made for concurrent calls from a CPU pool
        self._encoder: Any = None

    def load(self) -> None:
        """See TextEncoder."""
        with self._lock:
            self._encoder = self._encoder or self._loaded()

    def encode(self, texts: Sequence[str], *, are_questions: bool = False) -> FloatArray:
        """See TextEncoder."""
        return self._encoded(texts)

    def compute(self, question: str, texts: Sequence[str]) -> FloatArray:
        """See ServedModel; `question` has no meaning here. All texts at once."""
        return self._encoded(texts, batch_size=len(texts))

    def _encoded(self, texts: Sequence[str], **options: int) -> FloatArray:
        self.load()
        with self._lock:
            vectors = self._encoder.encode(list(texts), show_progress_bar=False, convert_to_numpy=True, **options)
        return np.asarray(vectors, dtype=np.float32)

    def _loaded(self) -> Any:
        try:
            with model_load(self._source) as noted:
                from sentence_transformers import SentenceTransformer

                loaded = SentenceTransformer(
                    self._source, device=self._device, trust_remote_code=self._trust_remote_code
                )
                noted.weigh(loaded.parameters())
        except Exception as error:  # whatever a model's files and its code may raise
            problem = str(error) or type(error).__name__
            reason = "code_not_trusted" if "trust_remote_code" in problem else "not_loaded"
            raise EmbedderRefusedError(reason, model=self._source, problem=problem) from error
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
            raise EmbedderRefusedError("pooling", model=self._source, pooling=self._pooling)
        loaded[at] = Pooling(loaded[at].embedding_dimension, pooling_mode=self._pooling)

    def _set_length(self, loaded: Any) -> None:
        """How much of a text is read: what was named, within what the model has positions for."""
        config = getattr(getattr(loaded[0], "auto_model", None), "config", None)
        positions = getattr(config, "max_position_embeddings", None)
        special = int(getattr(config, "pad_token_id", 0) or 0) + 1 if _counts_from_padding(config) else 0
        most = int(positions) - special if positions else None
        limit = self._max_tokens or loaded.max_seq_length
        length = min(length for length in (limit, most) if length) if limit or most else None
        if length is not None and length < LEAST_TOKENS:
            raise EmbedderRefusedError("cuts_texts", model=self._source, tokens=length, least=LEAST_TOKENS)
        if length != loaded.max_seq_length:  # models of fixed word vectors read texts of any length
            loaded.max_seq_length = length


def _counts_from_padding(config: Any) -> bool:
    """Whether positions begin behind the padding token, as in RoBERTa and its descendants (514 for 512 tokens)."""
    return "roberta" in str(getattr(config, "model_type", ""))


def load_sentences(source: str, **options: Any) -> SentenceModel:
    """A model that is ready for a question, for the model process. Raises EmbedderRefusedError."""
    model = SentenceModel(source, **options)
    model.encode(["ready"])  # weights are read from the disk with the first text
    return model


class ServedSentenceModel:
    """Implements TextEncoder: a model that the process at a socket holds for all."""

    def __init__(self, process: ModelProcess, source: str, **options: str | int | bool) -> None:
        self._process = process
        self._key = ModelKey(kind=KIND, source=source, options=tuple(sorted(options.items())))

    def load(self) -> None:
        """See TextEncoder."""
        self._process.load(self._key)

    def encode(self, texts: Sequence[str], *, are_questions: bool = False) -> FloatArray:
        """See TextEncoder. A few questions come before everything else, and wait a few seconds only."""
        is_urgent = are_questions and len(texts) <= QUESTION_TEXTS
        seconds = QUESTION_SECONDS if is_urgent else BATCH_SECONDS
        try:
            rows = [
                self._process.ask(
                    Request(model=self._key, texts=tuple(batch), is_urgent=is_urgent), seconds=seconds
                ).rows
                for batch in text_batches(texts)
            ]
        except RequestTooLargeError as error:
            raise EmbedderRefusedError("request_refused", problem="a text is too large") from error
        return np.vstack(rows)
