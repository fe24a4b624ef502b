"""What makes multilingual-e5-small read a question and a sentence together: a small change of its weights.

The model by itself compares two vectors that were made apart. Changed in its upper layers by products of thin matrices
(LoRA, Hu et al. 2021, arXiv 2106.09685; 2 MB), it reads both as one text and says how likely the sentence answers the
question (a cross-encoder, Nogueira & Cho 2019, arXiv 1901.04085). `python -m ragcore.training pairs` makes the change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ragcore.embedding.e5_weights import Shape
from ragcore.embedding.unigram import UnigramTokenizer
from ragcore.types.sentence_vectors import HeadedSentence

PAIRS_FILE = "e5_pairs_1.npz"
SPACE = "e5-pairs-1"  # of its scores: weights are fitted to them
QUESTION_TOKENS = 64
SENTENCE_TOKENS = 96  # with the head
ATTENTION = "qkv"  # parts that are changed together

FloatArray = npt.NDArray[np.float32]


def pair_ids(tokenizer: UnigramTokenizer, question_ids: Sequence[int], sentence: HeadedSentence) -> list[int]:
    """Token ids of a pair, in training as in use. `question_ids`: of the question with its prefix, without markers.

    Of a long sentence the beginning is read.
    """
    text = f"{sentence.head}: {sentence.text}" if sentence.head else sentence.text
    sentence_ids = tokenizer.encode(text, SENTENCE_TOKENS)
    return [tokenizer.begin, *question_ids, tokenizer.end, *sentence_ids, tokenizer.end]


class EncoderWeights(Protocol):
    """Weights of the encoder by name."""

    shape: Shape

    def matrix(self, name: str, rows: int) -> FloatArray:
        """float32[rows, n]"""
        ...

    def vector(self, name: str) -> FloatArray:
        """float32[n]"""
        ...


class PairWeights:
    """The weights of the changed model; implements EncoderWeights. `changes`: the arrays of PAIRS_FILE by name."""

    def __init__(self, weights: EncoderWeights, changes: Mapping[str, npt.NDArray[np.generic]]) -> None:
        self._weights = weights
        self._changes = changes
        self.shape = weights.shape

    def matrix(self, name: str, rows: int) -> FloatArray:
        """See EncoderWeights."""
        whole = self._weights.matrix(name, rows)
        layer, part, _kind = name.split(".")
        is_attention = part in ATTENTION
        changed = f"{layer}.{ATTENTION if is_attention else part}"
        if f"{changed}.left" not in self._changes:
            return whole
        start = ATTENTION.index(part) * rows if is_attention else 0
        left, right = self.change(f"{changed}.left")[start : start + rows], self.change(f"{changed}.right")
        return np.asarray(whole + left @ right, np.float32)

    def vector(self, name: str) -> FloatArray:
        """See EncoderWeights."""
        return self.change(name) if name in self._changes else self._weights.vector(name)

    def change(self, name: str) -> FloatArray:
        """float32: "l3.fi.left" [outputs, r], "l3.fi.right" [r, inputs], "head.w" [768], "head.b" [1] and norms."""
        return np.asarray(self._changes[name], np.float32)


@cache
def shipped_changes() -> Mapping[str, npt.NDArray[np.generic]]:
    """The change that comes with the product, float16 by name."""
    with files(__package__).joinpath(PAIRS_FILE).open("rb") as stream, np.load(stream) as stored:
        return {name: stored[name] for name in stored.files}
