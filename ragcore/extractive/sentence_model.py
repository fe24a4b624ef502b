"""How well a sentence of the sources answers a question: a linear model over signs in its words (A2, A4).

The weights ship in extractive_weights.json with the record of their training; `python -m ragcore.training sentences`
makes them. Listwise: the softmax of the scores of one question is the probability that a sentence holds the answer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from ragcore.extractive.sentence_features import FEATURES, SentenceFeatures
from ragcore.ports import FloatArray

WEIGHTS_FILE = "extractive_weights.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceScorer:
    """Weights of the features and, after them, of their interactions with the share of CJK in the question."""

    weights: tuple[float, ...]
    similarity: float = 4.0  # of the cosine, beside the trained weights: training sees no embedder

    @classmethod
    def shipped(cls) -> SentenceScorer:
        """The weights that come with the product. Raises ValueError if they are of other features."""
        return _shipped()

    def scores(self, known: SentenceFeatures) -> FloatArray:
        """float32[n]: log-odds within one question; only their differences mean anything."""
        meaning = self.similarity * known.column("similarity")
        return np.asarray(design(known) @ np.asarray(self.weights, np.float32) + meaning, dtype=np.float32)

    def probabilities(self, known: SentenceFeatures) -> FloatArray:
        """float32[n]: how likely each sentence is the one that answers, given that one of them does; sum 1."""
        scores = self.scores(known)
        powers = np.exp(scores - scores.max(initial=0.0))
        return np.asarray(powers / powers.sum(), dtype=np.float32) if len(powers) else powers


def design(known: SentenceFeatures) -> FloatArray:
    """float32[n, 2f]: the features and their interactions with the script of the question."""
    return np.hstack([known.matrix, known.matrix * np.float32(known.cjk_share)]).astype(np.float32)


@cache
def _shipped() -> SentenceScorer:
    record = json.loads(files("ragcore.extractive").joinpath(WEIGHTS_FILE).read_text(encoding="utf-8"))
    if record["features"] != list(FEATURES):
        raise ValueError(f"{WEIGHTS_FILE} was trained on other features; run ragcore.training sentences")
    return SentenceScorer(weights=tuple(record["weights"]))
