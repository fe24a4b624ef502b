"""Cross-encoders: models that read question and passage together (D5).

Any model that sentence-transformers loads as CrossEncoder, such as gte-multilingual-reranker-base, run by torch or
OpenVINO, or exported to ONNX and run by ONNX Runtime without importing torch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from ragcore.errors import ModelUnavailableError, RerankerRefusedError

DEFAULT_MODEL = "Alibaba-NLP/gte-multilingual-reranker-base"
MAX_TOKENS = 1024  # of question and passage; passages have 800 (D11)

Backend = Literal["torch", "onnx", "openvino"]


class PairModel(Protocol):
    """A loaded model."""

    @property
    def batch(self) -> int:
        """How many pairs it scores best at a time."""
        ...

    def logits(self, question: str, texts: Sequence[str]) -> list[float]:
        """One batch."""
        ...


class CrossEncoderScorer:
    """Implements PairScorer. Scores are logits (no sigmoid), higher is better.

    The model is loaded on first use, on the GPU if there is one. Pairs are scored in batches of like length, one
    question at a time. Raises RerankerRefusedError with the reason if the model cannot be loaded, and
    ModelUnavailableError if it is busy, out of memory, or not done after `budget_seconds`, which are looked at between
    batches and do not count loading.
    """

    cliff = 0.8
    low = 0.0  # a probability of one half

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        backend: Backend = "torch",
        batch: int = 0,  # 0: as suits the backend
        max_tokens: int = MAX_TOKENS,
        budget_seconds: float = 5.0,
        trust_remote_code: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = f"cross_encoder:{model}" + ("" if backend == "torch" else f" ({backend})")
        self._model, self._backend = model, backend
        self._batch, self._max_tokens = batch, max_tokens
        self._trust_remote_code = trust_remote_code
        self._budget_seconds, self._clock = budget_seconds, clock
        self._lock = threading.Lock()  # a torch module is not made for concurrent calls
        self._loaded: PairModel | None = None

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """See PairScorer."""
        if not texts:
            return []
        if not self._lock.acquire(timeout=self._budget_seconds):
            raise ModelUnavailableError("The reranking model is busy.", model=self._model)
        try:
            model = self._loaded = self._loaded or self._load()
            return self._in_batches(model, question, texts)
        finally:
            self._lock.release()

    def _in_batches(self, model: PairModel, question: str, texts: Sequence[str]) -> list[float]:
        """Longest texts first, so that memory runs out at once or never, and none is padded by much."""
        deadline = self._clock() + self._budget_seconds
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]), reverse=True)
        size = self._batch or model.batch
        scores = [0.0] * len(texts)
        for start in range(0, len(order), size):
            if start and self._clock() >= deadline:
                raise ModelUnavailableError("The reranking model is too slow.", model=self._model, scored=start)
            places = order[start : start + size]
            try:
                found = model.logits(question, [texts[at] for at in places])
            except RuntimeError as error:  # torch's and ONNX Runtime's, out of memory among them
                raise ModelUnavailableError(f"The reranking model failed: {error}", model=self._model) from error
            for at, score in zip(places, found, strict=True):
                scores[at] = score
        return scores

    def _load(self) -> PairModel:
        try:
            if self._backend == "onnx":
                from ragcore.providers.cross_encoder_onnx import OnnxPairs

                return OnnxPairs(self._model, max_tokens=self._max_tokens)
            from ragcore.providers.cross_encoder_torch import TorchPairs

            return TorchPairs(
                self._model,
                backend=self._backend,
                max_tokens=self._max_tokens,
                trust_remote_code=self._trust_remote_code,
            )
        except RerankerRefusedError:
            raise
        except Exception as error:  # whatever a model's files and its code may raise
            raise RerankerRefusedError(
                f"The reranking model {self._model!r} cannot be loaded: {error}", model=self._model
            ) from error
