"""The port of models that read a question and a sentence together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ragcore.ports import FloatArray
from ragcore.types.sentence_vectors import HeadedSentence


@runtime_checkable
class PairScorer(Protocol):
    """An embedder whose model also reads a question and a sentence together (a cross-encoder). Thread-safe."""

    pair_space: str  # of its scores: weights are fitted to them

    def score_pairs(self, question: str, sentences: Sequence[HeadedSentence]) -> FloatArray:
        """float32[n]: log-odds that each sentence answers rather than none; higher is likelier."""
        ...
