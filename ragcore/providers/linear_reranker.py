"""A reranker without a neural network: a linear model over lexical and vector evidence (D5).

The weights ship in linear_reranker.json with the record of their training; `manage.py train_reranker` makes them.
Listwise training: softmax cross-entropy over the candidates of a question (Cao et al., Learning to Rank: From
Pairwise Approach to Listwise Approach, ICML 2007).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from ragcore.ports import FloatArray, RerankInput, RerankScore
from ragcore.providers.rerank_features import FEATURES, features
from ragcore.types import Query

WEIGHTS_FILE = "linear_reranker.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearReranker:
    """Scores are log-odds within one question's candidates, higher is better; only their differences mean anything."""

    weights: tuple[float, ...]  # one per feature and, after them, its interaction with the share of CJK
    name: str = "linear"
    cliff: float = 4.0  # a factor of about 50 in odds

    @classmethod
    def shipped(cls) -> LinearReranker:
        """The weights that come with the product. Raises ValueError if they are of other features."""
        record = json.loads(files("ragcore.providers").joinpath(WEIGHTS_FILE).read_text(encoding="utf-8"))
        if record["features"] != list(FEATURES):
            raise ValueError(f"{WEIGHTS_FILE} was trained on other features; run manage.py train_reranker")
        return cls(weights=tuple(record["weights"]), cliff=record["cliff"])

    def score(self, query: Query, candidates: Sequence[RerankInput]) -> list[RerankScore]:
        """One score a candidate, in the order given, with the value of every feature."""
        if not candidates:
            return []
        matrix = features(query, candidates)
        scores = design(matrix, query.cjk_share) @ np.asarray(self.weights)
        return [
            RerankScore(score=float(s), detail=dict(zip(FEATURES, map(float, row), strict=True)))
            for s, row in zip(scores, matrix, strict=True)
        ]


def design(matrix: FloatArray, cjk_share: float) -> FloatArray:
    """float32[n, f] to float32[n, 2f]: the features and their interaction with the script of the question."""
    return np.hstack([matrix, matrix * np.float32(cjk_share)]).astype(np.float32)
