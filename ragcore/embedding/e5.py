"""A packaged embedder that reads 100 languages: multilingual-e5-small and hashed n-grams in one vector.

The model (Wang et al. 2024, arXiv 2402.05672) runs on ONNX Runtime. Processes share what is large: the word table and
the vocabulary are mapped from the folder of the export. See decision 045.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ragcore.client_registry import ClientKind
from ragcore.embedding.e5_export import ENCODER, INPUT, OUTPUT, PAIR_SCORE, PAIRS, STATES, WORDS
from ragcore.embedding.e5_pairs import QUESTION_TOKENS, SPACE, pair_ids
from ragcore.embedding.e5_weights import dequantised, weights_path, weights_verify
from ragcore.embedding.exporting import ensure_exported
from ragcore.embedding.hashed_ngrams import hashed_ngrams
from ragcore.embedding.packaged import PackagedEmbedder, joined
from ragcore.embedding.sentence_windows import Window, windows_of
from ragcore.embedding.unigram import UnigramTokenizer
from ragcore.errors import EmbedderRefusedError
from ragcore.onnx_session import onnx_session, run_side_by_side
from ragcore.ports import FloatArray
from ragcore.text.scripts import cjk_share
from ragcore.types.sentence_vectors import HeadedSentence

DIMENSIONS = 384
MAX_TOKENS = 512  # positions of the model
FOLDER = "multilingual-e5-small-int8-4"
EXPORTER = "ragcore.embedding.e5_export"
QUERY, PASSAGE = "query: ", "passage: "  # what the model was trained with
COMMON, RARE = -8.0, -14.0  # log probabilities of the words that are hardly and wholly worth their hashes

MODEL_SHARE = 0.75  # of the model in the inner product; see decision 045
FLOOR = 0.33  # 95 % of questions about something else stay below .26 to .34 with their best passage
TRUST = 0.7  # the most that the fusion's formula gives: both scripts are read
CENTRES = "e5_centres_1.npy"


class E5Small:
    """Encodes texts; thread-safe. Raises EmbedderRefusedError where the package is missing or damaged."""

    def __init__(self, cache_dir: Path, *, threads: int = 0) -> None:
        self._folder = folder = e5_exported(cache_dir)
        self._session = onnx_session(folder / ENCODER, name=FOLDER, threads=1)
        self._threads = threads
        self._tokenizer = UnigramTokenizer(folder)
        self._words = np.asarray(np.load(folder / WORDS, mmap_mode="r"))

    def encode(self, texts: Sequence[str], prefix: str) -> FloatArray:
        """float32[n, 384], L2-normalised; only the first 512 tokens of a text count."""
        token_ids = [self.token_ids(prefix + text) for text in texts]
        rows = run_side_by_side(self._run, token_ids, threads=self._threads)
        return np.vstack([np.zeros((0, DIMENSIONS), np.float32), *rows])

    def encode_sentences(self, sentences: Sequence[HeadedSentence], prefix: str) -> tuple[FloatArray, list[str]]:
        """float32[n, 384], L2-normalised: each sentence as its window says it, without the tokens of its head.

        With the text of each one's window.
        """
        pieces = [self._pieces(sentence.text) for sentence in sentences]
        heads = [self._pieces(f"{prefix}{sentence.head}: ") for sentence in sentences]
        rows, texts = np.zeros((len(sentences), DIMENSIONS), np.float32), []
        windows = list(windows_of(heads, pieces, most=MAX_TOKENS - 2))
        for window, states in zip(windows, run_side_by_side(self._states, windows, threads=self._threads), strict=True):
            for span in window.spans:
                rows[span.sentence] = states[span.start : span.stop].mean(0)
            read = [sentences[span.sentence] for span in window.spans]
            texts += [" ".join([read[0].head, *(sentence.text for sentence in read)])] * len(read)
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), np.float32), texts

    def score_pairs(self, question: str, sentences: Sequence[HeadedSentence]) -> FloatArray:
        """float32[n]: log-odds that each sentence answers; of long ones the beginning is read."""
        session = self._pair_session
        question_ids = self._tokenizer.encode(QUERY + question, QUESTION_TOKENS)
        pairs = [pair_ids(self._tokenizer, question_ids, piece) for piece in sentences]
        rows = run_side_by_side(lambda ids: self._output(session, PAIR_SCORE, ids), pairs, threads=self._threads)
        return np.concatenate([np.zeros(0, np.float32), *rows])

    def token_ids(self, text: str) -> list[int]:
        """With those of begin and end."""
        return [self._tokenizer.begin, *self._pieces(text), self._tokenizer.end]

    @cached_property
    def _pair_session(self) -> Any:
        """Loaded by those who answer questions alone."""
        return onnx_session(self._folder / PAIRS, name=FOLDER, threads=1)

    def _pieces(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, MAX_TOKENS - 2)

    def rarity(self, word: str) -> float:
        """How rare a lower-case word is, 0 to 1, by its probability in the vocabulary; 1 for one of several pieces."""
        score = self._tokenizer.log_probability(word)
        return 1.0 if score is None else max(0.05, min(1.0, (COMMON - score) / (COMMON - RARE)))

    def _run(self, token_ids: Sequence[int]) -> FloatArray:
        """float32[1, 384]. One text at a time: the int8 scales are those of the whole batch, so that in a batch the
        vector of a text would depend on its neighbours.
        """
        return self._output(self._session, OUTPUT, token_ids)

    def _states(self, window: Window) -> FloatArray:
        """float32[tokens of the window, 384]."""
        return self._output(self._session, STATES, [self._tokenizer.begin, *window.tokens, self._tokenizer.end])[1:-1]

    def _output(self, session: Any, name: str, token_ids: Sequence[int]) -> FloatArray:
        vectors = dequantised(self._words[np.asarray(token_ids)])
        (rows,) = session.run([name], {INPUT: vectors[None]})
        return np.asarray(rows, dtype=np.float32)


def e5_fault(cache_dir: Path) -> EmbedderRefusedError | None:
    """Why the model cannot be used on this machine; None: it can."""
    try:
        e5_require(cache_dir)
    except EmbedderRefusedError as error:
        return error
    return None


def e5_exported(cache_dir: Path) -> Path:
    """The folder of the export, made on first use. Raises EmbedderRefusedError with what is wrong with the package."""
    e5_require(cache_dir)
    return ensure_exported(cache_dir / FOLDER, EXPORTER)


def e5_require(cache_dir: Path) -> None:
    """Raises EmbedderRefusedError unless the model is exported or its package is as it should be."""
    if not (cache_dir / FOLDER).exists():
        weights_verify(weights_path())


class MultilingualEmbedder(PackagedEmbedder[E5Small]):
    """Implements ports.Embedder with multilingual-e5-small (384) and signed n-gram hashes (384), 768 in all.

    The model's vectors all lie in one corner, apart by language. The mean vector of their language and of questions or
    passages is taken away from them, so that cosines of unrelated texts are near zero and those of a translation are
    nearly those of the text. The first 384 numbers are the model alone.
    """

    client = ClientKind(kind="embedded_e5")
    model = "embedded-e5-ngrams-1"
    sentence_space = "e5-windows-1"
    pair_space = SPACE
    floor = FLOOR

    @classmethod
    def prepare(cls, cache_dir: Path) -> None:
        """See PackagedEmbedder."""
        e5_exported(cache_dir)

    def trust(self, cjk_share: float) -> float:
        """The same for every script."""
        return TRUST

    def embed_sentences(self, sentences: Sequence[HeadedSentence]) -> FloatArray:
        """See ports.SentenceEmbedder: of the model alone, comparable with the first 384 numbers of a question."""
        rows, texts = self.loaded.encode_sentences(sentences, PASSAGE)
        return centred(rows, texts, is_query=False)

    def score_pairs(self, question: str, sentences: Sequence[HeadedSentence]) -> FloatArray:
        """See pair_port.PairScorer."""
        return self.loaded.score_pairs(question, sentences)

    def _load(self, cache_dir: Path, threads: int) -> E5Small:
        return E5Small(cache_dir, threads=threads)

    def _embed(self, texts: Sequence[str], *, is_query: bool) -> FloatArray:
        meaning = centred(self.loaded.encode(texts, QUERY if is_query else PASSAGE), texts, is_query=is_query)
        words = hashed_ngrams(texts, dimensions=DIMENSIONS, rarity=self.loaded.rarity)
        return joined(np.sqrt(MODEL_SHARE) * meaning, np.sqrt(1 - MODEL_SHARE) * words)


def centred(vectors: FloatArray, texts: Sequence[str], *, is_query: bool) -> FloatArray:
    """float32[n, 384], L2-normalised: the vectors less their centre, which is between two in texts of both scripts."""
    latin, cjk = _centres()[0 if is_query else 1]
    share = np.array([cjk_share(text) for text in texts], np.float32)[:, None]
    rest = vectors - (latin + (cjk - latin) * share)
    return np.asarray(rest / np.linalg.norm(rest, axis=1, keepdims=True), dtype=np.float32)


@cache
def _centres() -> FloatArray:
    """float32[2, 2, 384]: of questions and passages, of Latin script and CJK; made by `ragcore.training centres`."""
    with files(__package__).joinpath(CENTRES).open("rb") as stream:
        return np.asarray(np.load(stream), dtype=np.float32)
