"""Cross-encoders: models that read question and passage together.

Any model that sentence-transformers loads as CrossEncoder, such as gte-multilingual-reranker-base, run by torch or
OpenVINO, or exported to ONNX and run by ONNX Runtime without importing torch.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import numpy as np

from ragcore.client_registry import ClientKind, ClientSettings
from ragcore.errors import ModelUnavailableError, RerankerRefusedError
from ragcore.model_memory import model_load
from ragcore.model_process.client import ModelProcess
from ragcore.model_process.protocol import ModelKey, Request, RequestTooLargeError
from ragcore.onnx_session import CPU, onnx_session
from ragcore.ports import FloatArray

KIND = "pairs"  # of the model process
DEFAULT_MODEL = "Alibaba-NLP/gte-multilingual-reranker-base"
MAX_TOKENS = 1024  # of question and passage; passages have 800

Backend = Literal["torch", "onnx", "openvino"]

GPU_BATCH = 32
TORCH_CPU_BATCH = 8  # small, so that a slow model is noticed early
ONNX_CPU_BATCH = 1  # nearly as fast as larger ones, and int8 scales, which are those of a batch, stay the pair's own
MODEL_FILES = ("onnx/model.onnx", "model.onnx", "onnx/model_int8.onnx", "onnx/model_quantized.onnx")
OTHER_FILES = ("tokenizer.json", "tokenizer_config.json", "config.json")
UNLIMITED = 1_000_000  # what configurations write for a model without a limit is far above


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

    The model is loaded on first use, on the GPU if there is one: into this process, or, where `process` is given, into
    that one. Pairs are scored in batches of like length, one
    question at a time. Raises RerankerRefusedError with the reason if the model cannot be loaded, and
    ModelUnavailableError if it is busy, out of memory, or not done after `budget_seconds`, which are looked at between
    batches and do not count loading.
    """

    client = ClientKind(kind="cross_encoder", argument="NAME")
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
        process: ModelProcess | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = f"cross_encoder:{model}" + ("" if backend == "torch" else f" ({backend})")
        self.scores_name = self.name
        self._model, self._backend = model, backend
        self._batch, self._max_tokens = batch, max_tokens
        self._trust_remote_code = trust_remote_code
        self._process = process
        self._budget_seconds, self._clock = budget_seconds, clock
        self._lock = threading.Lock()  # a torch module is not made for concurrent calls
        self._loaded: PairModel | None = None

    @classmethod
    def from_settings(cls, argument: str, settings: ClientSettings) -> CrossEncoderScorer:
        """A model of the hub or a folder, by name."""
        return cls(
            argument,
            backend=cast(Backend, settings.backend),
            batch=settings.batch,
            budget_seconds=settings.budget_seconds,
            trust_remote_code=settings.trust_remote_code,
            process=ModelProcess(settings.model_socket) if settings.model_socket else None,
        )

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        """See PairScorer."""
        if not texts:
            return []
        if not self._lock.acquire(timeout=self._budget_seconds):
            raise ModelUnavailableError("reranker_busy", model=self._model)
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
                raise ModelUnavailableError("reranker_slow", model=self._model, scored=start)
            places = order[start : start + size]
            try:
                logits = model.logits(question, [texts[at] for at in places])
            except RuntimeError as error:  # torch's and ONNX Runtime's, out of memory among them
                raise ModelUnavailableError("reranker_failed", model=self._model, problem=str(error)) from error
            for at, score in zip(places, logits, strict=True):
                scores[at] = score
        return scores

    def _load(self) -> PairModel:
        make = partial(ServedPairs, self._process, seconds=self._budget_seconds) if self._process else loaded_pairs
        return make(
            self._model,
            backend=self._backend,
            max_tokens=self._max_tokens,
            trust_remote_code=self._trust_remote_code,
        )


def loaded_pairs(model: str, *, backend: str, max_tokens: int, trust_remote_code: bool) -> PairModel:
    """A model in this process. Raises RerankerRefusedError."""
    try:
        if backend == "onnx":
            return OnnxPairs(model, max_tokens=max_tokens)
        return TorchPairs(model, backend=backend, max_tokens=max_tokens, trust_remote_code=trust_remote_code)
    except RerankerRefusedError:
        raise
    except Exception as error:  # whatever a model's files and its code may raise
        raise RerankerRefusedError("not_loaded", model=model, problem=str(error)) from error


class ServedPairs:
    """Implements PairModel: a model that the model process holds for all, asked for `seconds` at most.

    Raises what loading raises there, and ModelUnavailableError.
    """

    def __init__(self, process: ModelProcess, model: str, *, seconds: float, **options: str | int | bool) -> None:
        self._process, self._seconds = process, seconds
        self._key = ModelKey(kind=KIND, source=model, options=tuple(sorted(options.items())))
        self.batch = process.load(self._key).batch

    def logits(self, question: str, texts: Sequence[str]) -> list[float]:
        """See PairModel."""
        request = Request(model=self._key, texts=tuple(texts), question=question, is_urgent=True)
        try:
            rows = self._process.ask(request, seconds=self._seconds).rows
        except RequestTooLargeError as error:
            problem = "a passage is too large"
            raise ModelUnavailableError("model_failed", model=self._key.source, problem=problem) from error
        return [float(score) for score in rows[:, 0]]


class HeldPairs:
    """Implements ServedModel: a model that this process holds for others."""

    def __init__(self, source: str, **options: Any) -> None:
        """Raises RerankerRefusedError."""
        self._model = loaded_pairs(source, **options)
        self.batch = self._model.batch

    def compute(self, question: str, texts: Sequence[str]) -> FloatArray:
        """float32[n, 1]: the score of each text."""
        return np.array(self._model.logits(question, texts), np.float32).reshape(-1, 1)


class TorchPairs:
    """Implements PairModel. Raises RerankerRefusedError for a model that does not rank, and what loading raises."""

    def __init__(self, model: str, *, backend: str, max_tokens: int, trust_remote_code: bool) -> None:
        if backend == "openvino" and not find_spec("optimum.intel" if find_spec("optimum") else "optimum"):
            raise RerankerRefusedError("openvino_missing", model=model)
        with model_load(model) as noted:
            from sentence_transformers import CrossEncoder
            from torch.nn import Identity

            kind: Any = backend
            self._encoder: Any = CrossEncoder(
                model, backend=kind, trust_remote_code=trust_remote_code, activation_fn=Identity()
            )
            noted.weigh(self._encoder.parameters())
        _check_ranks(self._encoder, model)
        self._encoder.max_seq_length = min(self._encoder.max_seq_length or max_tokens, max_tokens)
        self.batch = TORCH_CPU_BATCH if str(self._encoder.device) == "cpu" else GPU_BATCH

    def logits(self, question: str, texts: Sequence[str]) -> list[float]:
        """See PairModel."""
        pairs = [[question, text] for text in texts]
        scores = self._encoder.predict(pairs, batch_size=len(pairs), show_progress_bar=False, convert_to_numpy=True)
        return [float(score) for score in scores]


def _check_ranks(encoder: Any, model: str) -> None:
    """A model without a trained head gets a random one when it is loaded: its scores would be noise."""
    config = getattr(encoder, "config", None)
    heads = [name for name in getattr(config, "architectures", None) or () if name.endswith("Model")]
    if heads:
        raise RerankerRefusedError("no_ranking_head", model=model, kind=heads[0])
    if encoder.num_labels != 1:
        raise RerankerRefusedError("classifier", model=model, count=encoder.num_labels)


class OnnxPairs:
    """Implements PairModel with the files of a folder or of a model on the Hugging Face hub.

    Needs one of MODEL_FILES with an output float[n, 1] or float[n], and tokenizer.json.
    Raises RerankerRefusedError if something is missing or the model does not rank, and what reading files raises.
    """

    def __init__(self, model: str, *, max_tokens: int) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        folder = Path(model) if Path(model).is_dir() else _downloaded(model)
        there = onnxruntime.get_available_providers()
        providers = [name for name in ("CUDAExecutionProvider", CPU) if name in there]
        self._session = onnx_session(_model_file(folder), name=model, providers=providers)
        self._inputs = {model_input.name for model_input in self._session.get_inputs()}
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(min(max_tokens, _limit(folder)), strategy="longest_first")
        self._tokenizer.no_padding()
        self._padding = _padding(folder, self._tokenizer)
        self.batch = GPU_BATCH if "CUDAExecutionProvider" in self._session.get_providers() else ONNX_CPU_BATCH

    def logits(self, question: str, texts: Sequence[str]) -> list[float]:
        """See PairModel. Raises RerankerRefusedError if there is more than one number a pair."""
        encodings = self._tokenizer.encode_batch([(question, text) for text in texts])
        feeds = dict(self._feeds(encodings))
        logits = np.asarray(self._session.run(None, feeds)[0], dtype=np.float32)
        if logits.size != len(texts):
            raise RerankerRefusedError("several_numbers", count=logits.size // len(texts))
        return [float(score) for score in logits.reshape(-1)]

    def _feeds(self, encodings: Sequence[Any]) -> Iterator[tuple[str, Any]]:
        """int64[n, longest] of what the model takes."""
        rows = {
            "input_ids": ([e.ids for e in encodings], self._padding),
            "attention_mask": ([e.attention_mask for e in encodings], 0),
            "token_type_ids": ([e.type_ids for e in encodings], 0),
        }
        for name, (values, padding) in rows.items():
            if name in self._inputs:
                longest = max(map(len, values))
                yield name, np.array([[*row, *[padding] * (longest - len(row))] for row in values], np.int64)


def _model_file(folder: Path) -> Path:
    path = next((folder / name for name in MODEL_FILES if (folder / name).is_file()), None)
    if path is None or not (folder / "tokenizer.json").is_file():
        raise RerankerRefusedError("not_exported", model=str(folder), files=" or ".join(MODEL_FILES))
    return path


def _downloaded(model: str) -> Path:
    """The files of a model on the hub, kept in its cache."""
    from huggingface_hub import snapshot_download

    patterns = [*OTHER_FILES, *MODEL_FILES[:1], f"{MODEL_FILES[0]}_data"]
    return Path(snapshot_download(model, allow_patterns=patterns))  # nosec B615 (named by the operator)


def _limit(folder: Path) -> int:
    """How many tokens the model was made for."""
    limits = (
        _json(folder / "tokenizer_config.json").get("model_max_length"),
        _json(folder / "config.json").get("max_position_embeddings"),
    )
    return min(
        (int(limit) for limit in limits if isinstance(limit, (int, float)) and 0 < limit < UNLIMITED), default=512
    )


def _padding(folder: Path, tokenizer: Any) -> int:
    """The id that fills a row; the mask makes it count for nothing."""
    token_id = _json(folder / "config.json").get("pad_token_id")
    return token_id if isinstance(token_id, int) else tokenizer.token_to_id("[PAD]") or 0


def _json(path: Path) -> Mapping[str, Any]:
    read = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return read if isinstance(read, dict) else {}
